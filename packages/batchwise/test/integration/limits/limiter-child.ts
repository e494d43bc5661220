// One of several processes that share a limit in Redis. Run as
// `node limiter-child.ts <json of LimiterWork>`: prints "ready"; after it has read a line, it keeps
// a batcher busy for a while and prints the amount that it was granted.

import { once } from "node:events";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { createBatcher } from "../../../src/index.ts";
import { type RedisClient, redisRateLimiter } from "../../../src/limits/redis/index.ts";

export interface LimiterWork {
  readonly port: number;
  readonly client: "ioredis" | "node-redis";
  readonly key: string;
  readonly costPerMinute: number;
  readonly maxBatchSize: number;
  readonly runMs: number;
  /** Milliseconds of each second in which the event loop is blocked. Default 0. */
  readonly stopMs?: number;
}

const work = JSON.parse(process.argv[2] ?? "") as LimiterWork;
// Ends with its parent process, however that ends.
process.stdin.once("end", () => process.exit(1));
const { port, key, costPerMinute, maxBatchSize } = work;

async function connect(): Promise<RedisClient> {
  if (work.client === "ioredis") return new Redis({ host: "127.0.0.1", port });
  return await createClient({ url: `redis://127.0.0.1:${port}` }).connect();
}

const client = await connect();
const limiter = redisRateLimiter({ client, key, costPerMinute });
console.log("ready");
await once(process.stdin, "data");
const until = Date.now() + work.runMs;
let granted = 0;
const batcher = createBatcher(
  (items: number[]) => {
    if (Date.now() < until) granted += items.length;
    return items;
  },
  { limiter, maxBatchSize },
);
const { stopMs = 0 } = work;
if (stopMs > 0) {
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  setInterval(() => Atomics.wait(nothing, 0, 0, stopMs), 1_000);
}
/** More than the limiter can grant. */
const items = Array.from({ length: (costPerMinute * work.runMs) / 60_000 }, (_, index) => index);
batcher.submitMany(items).catch(() => {});
await new Promise((resolve) => setTimeout(resolve, work.runMs));
console.log(granted);
process.exit(0);
