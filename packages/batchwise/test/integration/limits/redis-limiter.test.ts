// Limits that processes share, on a real Redis, by the clients of ioredis and node-redis.

import { createBatcher, type LimiterClient } from "batchwise";
import { redisRateLimiter } from "batchwise/limits/redis";
import { createClient } from "redis";
import { expect, onTestFinished, test } from "vitest";
import { ioredis, pause, place, Taker } from "./kit.ts";

test.each(["ioredis", "node-redis"] as const)(
  "a batcher keeps a limit of calls with a client of %s",
  async (library) => {
    const { port, key } = await place();
    const nodeRedis = createClient({ url: `redis://127.0.0.1:${port}` });
    if (library === "node-redis") await nodeRedis.connect();
    onTestFinished(() => {
      if (nodeRedis.isOpen) nodeRedis.destroy();
    });
    const client = library === "ioredis" ? await ioredis(port) : nodeRedis;
    const limiter = redisRateLimiter({ client, key, callsPerMinute: 1_200, burstMs: 100 });
    const calls: number[] = [];
    const batcher = createBatcher(
      (items: number[]) => {
        calls.push(performance.now());
        return items;
      },
      { limiter, maxBatchSize: 1 },
    );
    const items = Array.from({ length: 8 }, (_, index) => index);
    expect(await batcher.submitMany(items)).toEqual(items);
    await batcher.close();
    // Two were there; the other six come every 50 ms.
    expect((calls.at(-1) ?? 0) - (calls[0] ?? 0)).toBeGreaterThan(6 * 50 - 20);
  },
);

test("the waiting batch grows meanwhile, and is cut to a full bucket", async () => {
  const { port, key } = await place();
  const limiter = redisRateLimiter({ client: await ioredis(port), key, costPerMinute: 6_000, burstMs: 100 });
  const sizes: number[] = [];
  const batcher = createBatcher(
    (items: number[]) => {
      sizes.push(items.length);
      return items;
    },
    { limiter, maxBatchSize: 100 },
  );
  await batcher.submitMany(Array.from({ length: 25 }, (_, index) => index));
  await batcher.close();
  expect(sizes).toEqual([10, 10, 5]);
});

test("a pause in the provider's answer holds every process", async () => {
  const { port, key } = await place();
  const options = { key, callsPerMinute: 60_000 };
  const first = redisRateLimiter({ ...options, client: await ioredis(port) });
  const second = redisRateLimiter({ ...options, client: await ioredis(port) });
  first.hold(400);
  await pause(50);
  const taker = new Taker(second, 1);
  taker.retry();
  await pause(200);
  expect(taker.granted).toBe(0);
  await pause(350);
  expect(taker.granted).toBeGreaterThan(0);
});

test("the unused part of a batch goes back, and a debt is paid by all", async () => {
  const { port, key } = await place();
  const options = { key, costPerMinute: 60_000, burstMs: 100 };
  const first = redisRateLimiter({ ...options, client: await ioredis(port) });
  const second = redisRateLimiter({ ...options, client: await ioredis(port) });
  const client: LimiterClient = { retry: () => {} };
  expect(await first.reserve(client, 100)).toEqual({ granted: true, cost: 100 });
  first.giveBack(0, 100);
  await pause(20);
  expect(await second.reserve(client, 100)).toEqual({ granted: true, cost: 100 });
  second.giveBack(0, -500);
  const startedAt = performance.now();
  const taker = new Taker(first, 1);
  taker.retry();
  while (taker.granted === 0) await pause(5);
  expect(performance.now() - startedAt).toBeGreaterThan(400);
});

test("processes that request later do not overtake one that waits for much", async () => {
  const { port, key } = await place();
  const options = { key, costPerMinute: 60_000, burstMs: 500 };
  const make = async () => redisRateLimiter({ ...options, client: await ioredis(port) });
  const small = [new Taker(await make(), 10), new Taker(await make(), 10)];
  for (const taker of small) taker.retry();
  await pause(200);
  const startedAt = performance.now();
  const large = new Taker(await make(), 400);
  large.retry();
  while (large.granted === 0) await pause(5);
  // 0.4 s for itself, and the time for the requests of the two.
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});

test("a process that only looks is counted, and does not say that Redis was there for those that used the limit", async () => {
  const { port, key } = await place();
  const client = await ioredis(port);
  const limiter = redisRateLimiter({ client, key, callsPerMinute: 60_000 });
  const user: LimiterClient = { retry: () => {} };
  const read = async (): Promise<[unknown, number]> => {
    const [seen = 0] = (await client.zrange(`{${key}}:seen`, "0", "-1", "WITHSCORES")).slice(1).map(Number);
    return [await client.hget(`{${key}}:state`, "contact"), seen];
  };
  // Only the second tells the time by which it may be answered, and counts.
  await limiter.reserve(user, 1);
  await limiter.reserve(user, 1);
  const [contact, seenAt] = await read();
  let seen = seenAt;
  while (seen === seenAt) {
    await pause(20);
    [, seen] = await read();
  }
  expect((await read())[0]).toBe(contact);
  expect(Number(contact)).toBeGreaterThan(0);
});
