// Limits that many replicas share: their requests to Redis while they wait, and the share of a
// replica that comes late.

import type { LimiterClient } from "batchwise";
import { redisRateLimiter } from "batchwise/limits/redis";
import type { Redis } from "ioredis";
import { expect, test } from "vitest";
import { startOwnRedis } from "../services/kept.ts";
import { ioredis, pause, place, startChild, Taker } from "./kit.ts";

/** Commands that the server has run, those in scripts included. */
async function commands(client: Redis): Promise<number> {
  const text = await client.info("commandstats");
  return [...text.matchAll(/:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

test("200 replicas that wait for a limit send at most 3,000 commands a second, and use it in turn", async () => {
  const server = await startOwnRedis();
  const watcher = await ioredis(server.port);
  const perSecond = 20;
  const make = async (): Promise<Taker> => {
    const client = await ioredis(server.port);
    return new Taker(redisRateLimiter({ client, key: "k", callsPerMinute: perSecond * 60, costPerMinute: 1e9 }), 1);
  };
  const takers = await Promise.all(Array.from({ length: 200 }, make));
  const startedAt = performance.now();
  for (const taker of takers) taker.retry();
  await pause(2_000);
  const first = takers.map((taker) => taker.granted);
  const [before, beforeAt] = [await commands(watcher), performance.now()];
  await pause(4_000);
  const asked = ((await commands(watcher)) - before) / ((performance.now() - beforeAt) / 1_000);
  const seconds = (performance.now() - startedAt) / 1_000;
  expect(asked).toBeLessThan(3_000);
  const granted = takers.map((taker) => taker.granted);
  const sum = granted.reduce((left, right) => left + right, 0);
  expect(sum).toBeLessThanOrEqual(perSecond * (seconds + 1) * 1.001);
  expect(sum).toBeGreaterThan(perSecond * seconds * 0.95);
  // Since all have asked, no replica has had a second call before each had one.
  expect(Math.max(...granted.map((count, index) => count - Number(first[index])))).toBe(1);
}, 60_000);

test("a replica whose event loop stops for 700 ms of each second gets at least half of the others' share", async () => {
  const { port, key } = await place();
  const work = { port, key, client: "ioredis", costPerMinute: 600, maxBatchSize: 1, runMs: 6_000 } as const;
  const all = [startChild({ ...work, stopMs: 700 }), startChild(work), startChild(work), startChild(work)];
  for (const child of all) expect(await child.line()).toBe("ready");
  for (const child of all) child.begin();
  const [late = 0, ...punctual] = await Promise.all(all.map(async (child) => Number(await child.line())));
  expect(late).toBeGreaterThanOrEqual(Math.max(...punctual) / 2);
}, 60_000);

test("replicas that die while they wait hold the others up for three seconds at most", async () => {
  const { port, key } = await place();
  const options = { key, callsPerMinute: 1_200, burstMs: 50 };
  const dying = await Promise.all(Array.from({ length: 100 }, () => ioredis(port)));
  const nobody: LimiterClient = { retry: () => {} };
  const last = await ioredis(port);
  for (const client of [...dying, last]) await redisRateLimiter({ ...options, client }).reserve(nobody, 1);
  for (const client of dying) client.disconnect();
  const taker = new Taker(redisRateLimiter({ ...options, client: last }), 1);
  taker.retry();
  // They should come back within two seconds; a quarter of a second later they lose their
  // reservation.
  await pause(3_000);
  const before = taker.granted;
  await pause(1_000);
  expect(taker.granted - before).toBeGreaterThan(15);
}, 60_000);
