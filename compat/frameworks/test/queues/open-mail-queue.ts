// The queues of examples/queues at servers of the tests: a place that travels as JSON, and the
// queue in it.

import type pg from "pg";
import { bullmqQueue } from "../../examples/queues/bullmq-queue.ts";
import { graphileQueue } from "../../examples/queues/graphile-queue.ts";
import type { MailQueue } from "../../examples/queues/mail-queue.ts";
import { pgBossQueue } from "../../examples/queues/pg-boss-queue.ts";

export type QueuePlace =
  | { readonly name: "bullmq"; readonly port: number; readonly prefix: string }
  | { readonly name: "pg-boss" | "graphile-worker"; readonly config: pg.PoolConfig; readonly schema: string };

/** How long a dead process keeps its jobs, where the queue looks for itself. */
const recoverAfterSeconds = 6;

export async function openMailQueue(place: QueuePlace): Promise<MailQueue> {
  const options = { attempts: 2, recoverAfterSeconds };
  if (place.name === "bullmq") {
    return bullmqQueue({ ...options, connection: { host: "127.0.0.1", port: place.port }, prefix: place.prefix });
  }
  const { config: connection, schema } = place;
  return place.name === "pg-boss"
    ? pgBossQueue({ ...options, connection, schema })
    : graphileQueue({ ...options, connection, schema });
}
