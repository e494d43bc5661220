// The queues of examples/queues on the tests' servers: a place that can be sent as JSON, and the
// queue there.

import type pg from "pg";
import { bullmqQueue } from "../../examples/queues/bullmq-queue.ts";
import { graphileQueue } from "../../examples/queues/graphile-queue.ts";
import type { MailQueue } from "../../examples/queues/mail-queue.ts";
import { pgBossQueue } from "../../examples/queues/pg-boss-queue.ts";

export type QueuePlace =
  | { readonly name: "bullmq"; readonly port: number; readonly prefix: string }
  | { readonly name: "pg-boss" | "graphile-worker"; readonly config: pg.PoolConfig; readonly schema: string };

/** Time after which the queue takes the jobs of a dead process, if it checks by itself. */
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
