// Opens the queue of that name, on the server of REDIS_URL or DATABASE_URL.

import { bullmqQueue } from "./bullmq-queue.ts";
import { graphileQueue } from "./graphile-queue.ts";
import type { MailQueue } from "./mail-queue.ts";
import { pgBossQueue } from "./pg-boss-queue.ts";

export async function openQueue(name: string | undefined): Promise<MailQueue> {
  const connectionString = process.env.DATABASE_URL ?? "postgres://localhost/postgres";
  const { hostname: host, port } = new URL(process.env.REDIS_URL ?? "redis://localhost:6379");
  const options = { attempts: 1, connection: { connectionString } };
  if (name === "bullmq") return bullmqQueue({ ...options, connection: { host, port: Number(port) } });
  if (name === "pg-boss") return pgBossQueue(options);
  if (name === "graphile-worker") return graphileQueue(options);
  throw new Error(`Expected "bullmq", "pg-boss" or "graphile-worker", got ${JSON.stringify(name)}`);
}
