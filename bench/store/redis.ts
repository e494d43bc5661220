/**
 * The measures of Redis: the measures of any store, on a separate server that flushes its
 * append-only file before it answers; and the plain Redis work for comparison, by the same client.
 */
import type { Store } from "batchwise/dispatch";
import { redisStore } from "batchwise/dispatch/redis";
import { Redis } from "ioredis";
import type { Measurement } from "../harness/child.ts";
import { anyStore } from "./any-store.ts";
import { at, type Measures } from "./measures.ts";
import { passingIn } from "./passing.ts";
import { PRUNED, prune } from "./pruning.ts";
import { onRedis } from "./servers.ts";
import { size } from "./size.ts";
import { BATCH, byCallers, CHUNK, callsOf, NOW, PASSED, payload, requests, seconds } from "./work.ts";

function withClient(work: (client: Redis) => Promise<Measurement>): Promise<Measurement> {
  return onRedis(async ({ port }) => {
    const client = new Redis({ host: "127.0.0.1", port });
    try {
      return await work(client);
    } finally {
      await client.quit();
    }
  });
}

function inStore(work: (store: Store) => Promise<Measurement>): Promise<Measurement> {
  return withClient(async (client) => {
    const store = redisStore({ client });
    await store.probe(1, NOW);
    const seen = await work(store);
    await store.close();
    return seen;
  });
}

/** The memory of the server's data. */
async function pruneOnServer(client: Redis, count: number): Promise<Measurement> {
  const store = redisStore({ client });
  await store.probe(1, NOW);
  const seen = await prune(store, count, async () => {
    // UNLINK frees in the background.
    await new Promise((resolve) => setTimeout(resolve, 500));
    return Number(/used_memory:(?<bytes>\d+)/.exec(await client.info("memory"))?.groups?.bytes ?? Number.NaN);
  });
  await store.close();
  return seen;
}

/** The memory of the data, and the length of the append-only file. */
async function sizeOnServer(client: Redis, count: number): Promise<Measurement> {
  await client.config("SET", "auto-aof-rewrite-percentage", "0");
  const store = redisStore({ client });
  await store.probe(1, NOW);
  const figure = async (section: string, name: string): Promise<number> =>
    Number(new RegExp(`${name}:(\\d+)`).exec(await client.info(section))?.[1] ?? Number.NaN);
  const seen = await size(store, count, {
    written: () => figure("persistence", "aof_current_size"),
    bytes: async () => {
      // UNLINK frees in the background.
      await new Promise((resolve) => setTimeout(resolve, 500));
      return figure("memory", "used_memory");
    },
  });
  await store.close();
  return seen;
}

async function passingOnServer(client: Redis, count: number): Promise<Measurement> {
  return passingIn(redisStore({ client }), count);
}

/**
 * Sets fields of one hash, each by its own command: a thousand in one pipeline, which is one
 * transaction.
 */
async function ingestRaw(client: Redis, count: number): Promise<Measurement> {
  const calls = callsOf(count);
  const took = await seconds(async () => {
    for (const call of calls)
      await setAll(
        client,
        "request",
        call.map(({ id, body }) => [id, body] as const),
      );
  });
  return { perSecond: count / took };
}

async function singleRaw(client: Redis, count: number): Promise<Measurement> {
  const took = await byCallers(requests(count), ({ id, body }) => client.hset("request", id, body));
  return { perSecond: count / took };
}

async function settleRaw(client: Redis, count: number): Promise<Measurement> {
  const took = await seconds(async () => {
    for (let done = 0; done < count; done += CHUNK) {
      await setAll(
        client,
        "result",
        Array.from({ length: CHUNK }, (_, n) => [String(done + n), payload] as const),
      );
    }
  });
  return { perSecond: count / took };
}

async function setAll(client: Redis, key: string, fields: readonly (readonly [string, string])[]): Promise<void> {
  // Without MULTI the server flushes its file for each piece of the pipeline that it reads.
  const pipeline = client.multi();
  for (const [field, value] of fields) pipeline.hset(key, field, value);
  for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error;
}

export const measures: Measures = {
  ...at(anyStore, inStore),
  ...at(
    {
      ingestRaw: { run: ingestRaw, count: anyStore.ingest.count },
      singleRaw: { run: singleRaw, count: anyStore.single.count },
      settleRaw: { run: settleRaw, count: BATCH },
      prune: { run: pruneOnServer, count: PRUNED },
      size: { run: sizeOnServer, count: BATCH },
      passing: { run: passingOnServer, count: PASSED },
    },
    withClient,
  ),
};
