// Limits that processes share, on servers that change: a clock that goes back, and a cluster.

import type { LimiterClient, RateLimiter } from "batchwise";
import { redisRateLimiter } from "batchwise/limits/redis";
import type { Redis } from "ioredis";
import { expect, test } from "vitest";
import { startCluster, takeOver } from "./cluster.ts";
import { ioredis, pause, place, Taker } from "./kit.ts";

/** Changes the limit's state as if the server's clock were ahead by `byMs`. */
async function shiftClock(client: Redis, key: string, byMs: number): Promise<void> {
  for (const field of ["at", "held", "contact", "returned", "swept"]) {
    const known = Number(await client.hget(`{${key}}:state`, field));
    if (known > 0) await client.hset(`{${key}}:state`, field, String(known + byMs));
  }
  for (const name of ["queue", "seen"]) {
    for (const member of await client.zrange(`{${key}}:${name}`, "0", "-1")) {
      await client.zincrby(`{${key}}:${name}`, byMs, member);
    }
  }
  for (const [process, ask] of Object.entries(await client.hgetall(`{${key}}:asks`))) {
    const [cost, dueAt] = ask.split(" ");
    await client.hset(`{${key}}:asks`, process, `${cost} ${Number(dueAt) + byMs}`);
  }
}

const gone: LimiterClient = { retry: () => {} };

test.each<[string, (limiter: RateLimiter) => Promise<unknown>]>([
  ["after a pause of half a second", async (limiter) => limiter.hold(500)],
  [
    "while one that has died waits for much",
    async (limiter) => [await limiter.reserve(gone, 100), await limiter.reserve(gone, 100)],
  ],
])("a server whose clock goes back ten minutes stops no process, %s", async (_, prepare) => {
  const { port, key } = await place();
  const options = { key, costPerMinute: 6_000, burstMs: 1_000 };
  const client = await ioredis(port);
  const dying = await ioredis(port);
  const before = redisRateLimiter({ client: dying, ...options });
  await before.reserve(gone, 10);
  await prepare(before);
  // `hold` has no answer to wait for; on the same connection this comes after it.
  await dying.ping();
  dying.disconnect();
  await shiftClock(client, key, 600_000);
  const taker = new Taker(redisRateLimiter({ client: await ioredis(port), ...options }), 50);
  taker.retry();
  for (const until = performance.now() + 5_000; taker.granted === 0 && performance.now() < until; ) await pause(20);
  expect(taker.granted).toBeGreaterThan(0);
  // Those that were seen by the other clock count no longer than they would have.
  const seen = await client.zrange(`{${key}}:seen`, "0", "-1", "WITHSCORES");
  expect(Math.max(...seen.filter((_, index) => index % 2 === 1).map(Number))).toBeLessThan(Date.now() + 60_000);
});

test("nodes of a cluster keep limits, also when they forget their scripts and when a replica takes over", async () => {
  const { client, nodes } = await startCluster();
  const losses: string[] = [];
  const perSecond = 200;
  const begin = (key: string): Taker => {
    const onState = (_: string, error: unknown) => losses.push(String(error));
    const options = { client, costPerMinute: perSecond * 60, burstMs: 100, timeoutMs: 500, processes: 1, onState };
    const taker = new Taker(redisRateLimiter({ ...options, key }), 5);
    taker.retry();
    return taker;
  };
  const startedAt = performance.now();
  // Of twelve keys every node has some.
  const takers = Array.from({ length: 12 }, (_, index) => begin(`key-${index}`));
  for (let round = 0; round < 5; round += 1) {
    await pause(200);
    for (const node of nodes) await node.call("SCRIPT", "FLUSH");
  }
  await pause(200);
  expect(losses.filter((error) => error.includes("NOSCRIPT"))).toEqual([]);
  const before = takers.map(({ granted }) => granted);
  for (const granted of before) expect(granted).toBeGreaterThan(0);

  for (const replica of nodes.slice(3)) await takeOver(replica);
  await pause(2_000);
  const allowed = (perSecond * (performance.now() - startedAt)) / 1_000 + perSecond * 0.1;
  for (const [index, { granted }] of takers.entries()) {
    expect(granted).toBeGreaterThan(Number(before[index]));
    expect(granted).toBeLessThanOrEqual(allowed * 1.001);
  }
}, 60_000);
