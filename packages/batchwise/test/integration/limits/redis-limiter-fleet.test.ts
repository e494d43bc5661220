// Limits that many replicas share: how much of a limit they use, their requests to Redis while they
// wait, and the share of a replica that comes late. Nothing else runs meanwhile.

import type { LimiterClient } from "batchwise";
import { redisRateLimiter } from "batchwise/limits/redis";
import type { Redis } from "ioredis";
import { expect, test } from "vitest";
import { startOwnRedis } from "../services/kept.ts";
import { ioredis, pause, place, startChild, Taker } from "./kit.ts";
import type { LimiterWork } from "./limiter-child.ts";

/** Commands that the server has run, those in scripts included. */
async function commands(client: Redis): Promise<number> {
  const text = await client.info("commandstats");
  return [...text.matchAll(/:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

const RUN_MS = 4_000;
const PER_SECOND = 1_000;

/**
 * What eight processes were granted of one limit, each, for four seconds. It is never more than the
 * limit allows.
 */
async function grantedToEight(): Promise<readonly number[]> {
  const { port, key } = await place();
  const works = Array.from({ length: 8 }, (_, index): LimiterWork => {
    const client = index % 2 === 0 ? "ioredis" : "node-redis";
    return { port, client, key, costPerMinute: PER_SECOND * 60, maxBatchSize: 20, runMs: RUN_MS };
  });
  const children = await Promise.all(works.map((work) => startChild(work)));
  for (const child of children) expect(await child.line()).toBe("ready");
  const beganAt = Date.now();
  for (const child of children) child.begin();
  const granted = await Promise.all(children.map(async (child) => Number(await child.line())));
  // All began within `beganLateMs`, and the bucket was full: a second's worth.
  const beganLateMs = Math.min(200, Date.now() - beganAt - RUN_MS);
  const allowed = (PER_SECOND * (RUN_MS + Math.max(0, beganLateMs))) / 1_000 + PER_SECOND;
  expect(sumOf(granted)).toBeLessThanOrEqual(allowed * 1.001);
  return granted;
}

function sumOf(granted: readonly number[]): number {
  return granted.reduce((left, right) => left + right, 0);
}

test("eight processes use at least 97 % of a limit together, and at most 0.1 % more than it allows", async () => {
  const granted = await grantedToEight();
  expect(sumOf(granted)).toBeGreaterThanOrEqual(PER_SECOND + 0.97 * PER_SECOND * (RUN_MS / 1_000));
  // They were served in turn.
  for (const share of granted) expect(share).toBeGreaterThan(sumOf(granted) / 8 / 4);
}, 60_000);

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
  const sum = sumOf(granted);
  expect(sum).toBeLessThanOrEqual(perSecond * (seconds + 1) * 1.001);
  expect(sum).toBeGreaterThan(perSecond * seconds * 0.95);
  // Since all have asked, no replica has had a second call before each had one.
  expect(Math.max(...granted.map((count, index) => count - Number(first[index])))).toBe(1);
}, 60_000);

test("a replica whose event loop stops for 700 ms of each second gets at least half of the others' share", async () => {
  const { port, key } = await place();
  const work = { port, key, client: "ioredis", costPerMinute: 600, maxBatchSize: 1, runMs: 6_000 } as const;
  const works = [{ ...work, stopMs: 700 }, work, work, work];
  const all = await Promise.all(works.map((each) => startChild(each)));
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
