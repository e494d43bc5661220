// `resetStats()`: resets the counters; waiting and running items count as submitted now.

import type { BatcherStats } from "batchwise";
import { expect, test } from "vitest";
import { echo, echoAll, range, rig, watch } from "../support.ts";

const nothing = { mean: 0, p50: 0, p95: 0, p99: 0, max: 0 };

function settled({ completed, failed, cancelled, expired, rejected }: BatcherStats): number {
  return completed + failed + cancelled + expired + rejected;
}

test("resetStats() at rest is a batcher that has done nothing", async () => {
  const of = rig<number>({ dedupe: String, cache: new Map<string, number>() });
  const fresh = of.batcher.stats();
  void of.batcher.submitMany([1, 1, 2]);
  await of.clock.advance(10);
  await echoAll(of);
  await of.batcher.submit(1);
  of.batcher.resetStats();
  expect(of.batcher.stats()).toEqual(fresh);
  await of.clock.advance(500);
  expect(of.batcher.stats()).toEqual(fresh);
});

test("resetStats() counts items that wait, are blocked, run or are looked up as newly submitted", async () => {
  const get = (key: string): Promise<undefined> | undefined => (key === "9" ? new Promise(() => {}) : undefined);
  const of = rig<number>({ maxBatchSize: 2, maxQueueSize: 3, dedupe: String, cache: { get, set: () => {} } });
  void of.batcher.submitMany([0, 1]);
  await echoAll(of);
  void of.batcher.submitMany(range(8));
  void of.batcher.submit(9);
  void of.batcher.submit(1);
  await of.clock.settle();
  expect(of.batcher.stats()).toMatchObject({ submitted: 12, completed: 2, running: 2, waiting: 3, blocked: 3 });
  of.batcher.resetStats();
  expect(of.batcher.stats()).toMatchObject({ submitted: 10, completed: 0, running: 2, waiting: 3, blocked: 3 });
  await echoAll(of);
  expect(of.batcher.stats()).toMatchObject({ submitted: 10, completed: 9, running: 0, waiting: 0 });
  const closed = of.batcher.close();
  await echoAll(of);
  await closed;
  const stats = of.batcher.stats();
  expect(stats).toMatchObject({ submitted: 10, completed: 10 });
});

test("resetStats() keeps `submitted = settled` however the open items end", async () => {
  const of = rig<number>({ maxBatchSize: 1, maxQueueSize: 3 });
  const leave = new AbortController();
  of.batcher.submit(0).catch(() => {});
  await of.clock.settle();
  of.batcher.submit(1, { signal: leave.signal }).catch(() => {});
  of.batcher.submit(2, { timeoutMs: 10 }).catch(() => {});
  void of.batcher.submit(3);
  of.batcher.resetStats();
  leave.abort();
  await of.clock.advance(10);
  of.handler.open[0]?.reject(new Error("broken"));
  await echoAll(of);
  const stats = of.batcher.stats();
  expect(stats).toMatchObject({ submitted: 4, cancelled: 1, expired: 1, failed: 1, completed: 1 });
  expect(settled(stats)).toBe(stats.submitted);
});

test("resetStats() measures time from then on: a batch that runs has been busy since", async () => {
  const of = rig<number>();
  void of.batcher.submit(1);
  await of.clock.advance(100);
  of.batcher.resetStats();
  expect(of.batcher.stats()).toMatchObject({ busyMs: 0, idleMs: 0, runningBatches: 1 });
  await of.clock.advance(30);
  await echo(of);
  await of.clock.advance(10);
  expect(of.batcher.stats()).toMatchObject({ busyMs: 30, idleMs: 10, utilization: 0.75 });
});

test("resetStats() keeps each item's own wait and latency: they count from its submit", async () => {
  const of = rig<number>({ maxWaitMs: 50 });
  void of.batcher.submit(1);
  await of.clock.advance(20);
  of.batcher.resetStats();
  expect(of.batcher.stats()).toMatchObject({ oldestWaitMs: 20, waitMs: nothing });
  await of.clock.advance(30);
  await of.clock.advance(10);
  await echo(of);
  expect(of.batcher.stats()).toMatchObject({ waitMs: { max: 50 }, latencyMs: { max: 60 }, batches: 1 });
});

test("resetStats() at rest lets the time until the next submit count for nothing", async () => {
  const of = rig<number>();
  void of.batcher.submit(1);
  await echo(of);
  of.batcher.resetStats();
  await of.clock.advance(1_000);
  void of.batcher.submit(2);
  await of.clock.advance(25);
  expect(of.batcher.stats()).toMatchObject({ utilization: 1, busyMs: 25, idleMs: 0 });
});

test("resetStats() changes no snapshot, stops no item and forgets no run times", async () => {
  const of = rig<number>({ maxWaitMs: 50 });
  void of.batcher.submit(1);
  void of.batcher.flush();
  await of.clock.advance(20);
  await echo(of);
  const before = of.batcher.stats();
  of.batcher.resetStats();
  expect(before.completed).toBe(1);
  const result = watch(of.batcher.submit(2, { timeoutMs: 40 }));
  await of.clock.advance(13);
  expect(of.handler.calls).toHaveLength(1);
  await of.clock.advance(1);
  await echo(of);
  expect(result.state).toBe("fulfilled");
});

test("resetStats() in a listener, while answers are given, counts each item once", async () => {
  const of = rig<number>();
  let isFirst = true;
  of.batcher.on("item", () => {
    if (isFirst) of.batcher.resetStats();
    isFirst = false;
  });
  void of.batcher.submitSettled(range(6));
  await of.clock.settle();
  of.handler.calls[0]?.resolve(range(6).map((item) => (item % 2 === 0 ? item : new Error("odd"))));
  await of.clock.settle();
  const stats = of.batcher.stats();
  expect(settled(stats)).toBe(stats.submitted);
});

test("resetStats() after close() counts nothing, and later submits are counted as rejected", async () => {
  const of = rig<number>();
  void of.batcher.submit(1);
  await echo(of);
  await of.batcher.close();
  of.batcher.resetStats();
  await of.clock.advance(50);
  of.batcher.submit(2).catch(() => {});
  await of.clock.advance(50);
  expect(of.batcher.stats()).toMatchObject({ submitted: 1, rejected: 1, utilization: 0, busyMs: 0, idleMs: 0 });
});

test("resetStats() while a batch runs that its callers have left: that time is busy, and life", async () => {
  const of = rig<number>();
  const leave = new AbortController();
  of.batcher.submit(0, { signal: leave.signal }).catch(() => {});
  await of.clock.settle();
  leave.abort();
  of.batcher.resetStats();
  await of.clock.advance(100);
  await echoAll(of);
  expect(of.batcher.stats()).toMatchObject({ submitted: 0, busyMs: 100, idleMs: 0, utilization: 1 });
  await of.clock.advance(90);
  void of.batcher.submit(1);
  await of.clock.advance(10);
  expect(of.batcher.stats()).toMatchObject({ submitted: 1, busyMs: 110, idleMs: 90 });
  await echoAll(of);
});
