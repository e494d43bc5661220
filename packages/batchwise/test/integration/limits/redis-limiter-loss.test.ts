// Limits that processes share, while Redis is gone for all of them or for one.

import type { LimiterClient } from "batchwise";
import { type RedisRateLimiterOptions, redisRateLimiter } from "batchwise/limits/redis";
import { expect, onTestFinished, test } from "vitest";
import { clientAt } from "../services/redis.ts";
import { ioredis, pause, place, Taker, Wire } from "./kit.ts";

test("without Redis the processes continue with equal shares within a second, one that starts takes its share, and all come back", async () => {
  const { port, key } = await place();
  const wire = new Wire(port);
  await wire.open();
  const perSecond = 1_000;
  const states: string[] = [];
  const options = { key, costPerMinute: perSecond * 60, burstMs: 200 };
  const make = async (): Promise<Taker> => {
    const client = await ioredis(wire.port);
    return new Taker(redisRateLimiter({ ...options, client, onState: (state) => states.push(state) }), 5);
  };
  /** One whose client has never been connected. */
  const begin = (more: Partial<RedisRateLimiterOptions>): Taker => {
    const client = clientAt(wire.port);
    onTestFinished(() => client.disconnect());
    return new Taker(redisRateLimiter({ ...options, client, ...more }), 5);
  };
  const takers = [await make(), await make(), await make(), await make()];
  for (const taker of takers) taker.retry();
  await pause(800);
  const sum = (): number => takers.reduce((total, { granted }) => total + granted, 0);

  wire.cut();
  await pause(1_000);
  expect(states).toEqual(["shares", "shares", "shares", "shares"]);
  const cutAt = performance.now();
  const before = takers.map(({ granted }) => granted);
  const [late, blind] = [begin({ processes: 10 }), begin({})];
  late.retry();
  blind.retry();
  await pause(1_500);
  const seconds = (performance.now() - cutAt) / 1_000;
  for (const [index, { granted }] of takers.entries()) {
    const rate = (granted - (before[index] ?? 0)) / seconds;
    expect(rate).toBeGreaterThan(0.9 * (perSecond / 4));
    expect(rate).toBeLessThan(1.1 * (perSecond / 4));
  }
  expect(late.granted / seconds).toBeLessThan(1.1 * (perSecond / 10));
  expect(late.granted / seconds).toBeGreaterThan(0.5 * (perSecond / 10));
  expect(blind.granted).toBe(0);
  late.stop();
  blind.stop();

  wire.isCut = false;
  const returnedAt = performance.now();
  const atReturn = sum();
  while (states.filter((state) => state === "redis").length < 4) await pause(10);
  await pause(2_000);
  const allowed = (perSecond * (performance.now() - returnedAt)) / 1_000;
  expect(sum() - atReturn).toBeLessThan(allowed * 1.001 + perSecond * 0.3);
  // Half a second without grants is in it, in which others might have used their shares.
  expect(sum() - atReturn).toBeGreaterThan(perSecond);
}, 30_000);

test("a process that is the only one to lose Redis continues beside the others with its share, and comes back", async () => {
  const { port, key } = await place();
  const wire = new Wire(port);
  await wire.open();
  const options = { key, costPerMinute: 60_000, burstMs: 200 };
  const alone = new Taker(redisRateLimiter({ ...options, client: await ioredis(wire.port) }), 5);
  const direct = async () => new Taker(redisRateLimiter({ ...options, client: await ioredis(port) }), 5);
  const others = [await direct(), await direct(), await direct()];
  const startedAt = performance.now();
  for (const taker of [alone, ...others]) taker.retry();
  await pause(500);
  wire.cut();
  await pause(1_000);
  wire.isCut = false;
  await pause(1_500);
  const seconds = (performance.now() - startedAt) / 1_000;
  const sum = [alone, ...others].reduce((total, { granted }) => total + granted, 0);
  // Allows a quarter of the limit more for the time without the others.
  expect(sum).toBeLessThan(1_000 * seconds + 200 + 250 * 2);
  expect(sum).toBeGreaterThan(1_000 * seconds * 0.85);
}, 30_000);

test.each([
  ["with `processes`, lost at once", 8, 0],
  ["without it, lost a second after the last has begun", undefined, 1_500],
])(
  "processes that begin at different times keep the limit together without Redis: %s",
  async (_, processes, waitMs) => {
    const { port, key } = await place();
    const wire = new Wire(port);
    await wire.open();
    const perSecond = 1_000;
    const burstMs = 200;
    const once: LimiterClient = { retry: () => {} };
    const takers: Taker[] = [];
    for (let index = 0; index < 8; index += 1) {
      const client = await ioredis(wire.port);
      const limiter = redisRateLimiter({
        client,
        key,
        costPerMinute: perSecond * 60,
        burstMs,
        processes,
        timeoutMs: 500,
      });
      expect(await limiter.reserve(once, 1)).toEqual({ granted: true, cost: 1 });
      takers.push(new Taker(limiter, 5));
    }
    await pause(waitMs);
    wire.cut();
    for (const taker of takers) taker.retry();
    await pause(1_000);
    const sum = (): number => takers.reduce((total, { granted }) => total + granted, 0);
    const [startedAt, before] = [performance.now(), sum()];
    await pause(2_000);
    const flowed = (perSecond * (performance.now() - startedAt)) / 1_000;
    expect(sum() - before).toBeLessThanOrEqual(flowed + (perSecond * burstMs) / 1_000);
    expect(sum() - before).toBeGreaterThan(0.85 * flowed);
  },
  30_000,
);

test("limiters with the same options on one client are one process", async () => {
  const { port, key } = await place();
  const wire = new Wire(port);
  await wire.open();
  wire.cut();
  const client = clientAt(wire.port);
  onTestFinished(() => client.disconnect());
  const told: string[] = [];
  const options = { client, key, costPerMinute: 60_000, burstMs: 200, processes: 1 };
  const takers = ["a", "b"].map((name) => {
    const onState = (state: string) => told.push(`${name}: ${state}`);
    return new Taker(redisRateLimiter({ ...options, onState }), 5);
  });
  const startedAt = performance.now();
  for (const taker of takers) taker.retry();
  await pause(2_000);
  const [a = 0, b = 0] = takers.map(({ granted }) => granted);
  expect(a + b).toBeLessThanOrEqual(performance.now() - startedAt + 200);
  expect(Math.min(a, b)).toBeGreaterThan(0);
  expect(told).toEqual(["a: shares", "b: shares"]);
}, 30_000);

test("a process whose turn is far away learns within a second that Redis is gone", async () => {
  const { port, key } = await place();
  const wire = new Wire(port);
  await wire.open();
  const states: string[] = [];
  const onState = (state: string) => states.push(state);
  const limiter = redisRateLimiter({ client: await ioredis(wire.port), key, callsPerMinute: 6, processes: 1, onState });
  const taker = new Taker(limiter, 1);
  taker.retry();
  await pause(300);
  wire.cut();
  await pause(1_000);
  expect([taker.granted, states]).toEqual([1, ["shares"]]);
});
