import { type BatcherStats, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { echo, echoAll, range, rig } from "../support.ts";

function sum({ completed, failed, cancelled, expired, rejected }: BatcherStats): number {
  return completed + failed + cancelled + expired + rejected;
}

describe("stats()", () => {
  test("starts at zero in every field", () => {
    const nothing = { mean: 0, p50: 0, p95: 0, p99: 0, max: 0 };
    expect(rig().batcher.stats()).toEqual({
      submitted: 0,
      completed: 0,
      failed: 0,
      cancelled: 0,
      expired: 0,
      rejected: 0,
      deduped: 0,
      cacheHits: 0,
      batches: 0,
      batchesByReason: { size: 0, cost: 0, idle: 0, wait: 0, preferred: 0, deadline: 0, flush: 0, drain: 0 },
      waiting: 0,
      blocked: 0,
      running: 0,
      runningBatches: 0,
      averageBatchSize: 0,
      averageBatchCost: 0,
      utilization: 0,
      learned: null,
      busyMs: 0,
      idleMs: 0,
      waitMs: nothing,
      runMs: nothing,
      latencyMs: nothing,
      batchSize: nothing,
      batchCost: nothing,
      oldestWaitMs: 0,
    });
  });

  test("is a snapshot that never changes", async () => {
    const of = rig<string>();
    void of.batcher.submit("a");
    const before = of.batcher.stats();
    await echo(of);
    expect(before).toMatchObject({ submitted: 1, completed: 0, waiting: 1 });
    for (const part of [before, before.batchesByReason, before.waitMs, before.runMs, before.latencyMs]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  test("counts an item as running until its answer, also where its batch runs on", async () => {
    const of = rig<string>();
    const leaving = new AbortController();
    void of.batcher.submit("a");
    of.batcher.submit("b", { signal: leaving.signal }).catch(() => {});
    await of.clock.advance(0);
    expect(of.batcher.stats()).toMatchObject({ running: 2, runningBatches: 1 });
    leaving.abort();
    expect(of.batcher.stats()).toMatchObject({ running: 1, runningBatches: 1, cancelled: 1 });
    await echo(of);
    expect(of.batcher.stats()).toMatchObject({ running: 0, runningBatches: 0 });
  });

  test("adds up at rest, however items end", async () => {
    const clock = virtualClock();
    const batcher = createBatcher(
      async (items: number[]) => {
        if (items.includes(13)) throw new Error("unlucky");
        return items.map((item) => (item % 7 === 0 ? new Error("in place") : item));
      },
      {
        clock,
        maxBatchSize: 3,
        maxBatchCost: 20,
        cost: (item) => (item === 17 ? Number.NaN : item === 19 ? 50 : 1),
        maxQueueSize: 20,
        onFull: "reject",
        dedupe: (item) => String(item % 25),
      },
    );
    const leave = new AbortController();
    const settled = range(40).map((item) =>
      batcher.submitSettled([item], {
        ...(item % 5 === 1 ? { signal: leave.signal } : {}),
        ...(item % 5 === 2 ? { timeoutMs: 0 } : {}),
      }),
    );
    leave.abort();
    await clock.runAll();
    await Promise.all(settled);
    await batcher.close();
    const late = await batcher.submitSettled([1]);
    expect(late[0]?.status).toBe("rejected");
    const stats = batcher.stats();
    expect(stats.submitted).toBe(41);
    expect(sum(stats)).toBe(41);
    for (const name of ["completed", "failed", "cancelled", "expired", "rejected"] as const) {
      expect(stats[name]).toBeGreaterThan(0);
    }
  });

  test("counts the items that wait and run now", async () => {
    const of = rig<number>({ maxBatchSize: 3 });
    void of.batcher.submitMany(range(8));
    expect(of.batcher.stats()).toMatchObject({ waiting: 8, running: 0 });
    await of.clock.settle();
    expect(of.batcher.stats()).toMatchObject({ waiting: 5, running: 3 });
    await echo(of);
    expect(of.batcher.stats()).toMatchObject({ waiting: 2, running: 3, completed: 3 });
    await echoAll(of);
    expect(of.batcher.stats()).toMatchObject({ waiting: 0, running: 0, completed: 8 });
  });

  test("averages size and cost over the batches", async () => {
    const of = rig<number>({ cost: (item) => item, maxBatchSize: 2 });
    void of.batcher.submitMany([1, 2, 6]);
    await echoAll(of);
    expect(of.batcher.stats()).toMatchObject({ batches: 2, averageBatchSize: 1.5, averageBatchCost: 4.5 });
  });

  test("measures waits, runs and latencies, each item its own", async () => {
    const of = rig<string>({ maxWaitMs: 40 });
    void of.batcher.submit("a");
    await of.clock.advance(30);
    void of.batcher.submit("b");
    await of.clock.advance(10);
    await of.clock.advance(100);
    await echo(of);
    const { waitMs, runMs, latencyMs } = of.batcher.stats();
    expect(waitMs.max).toBe(40);
    expect(waitMs.p50).toBeCloseTo(10, 0);
    expect(runMs.max).toBe(100);
    expect(latencyMs.max).toBe(140);
    expect(latencyMs.p50).toBeGreaterThan(107);
    expect(latencyMs.p50).toBeLessThan(113);
  });

  test("reports how long the oldest has waited", async () => {
    const of = rig<string>({ key: (item) => item });
    of.batcher.pause();
    void of.batcher.submit("a");
    await of.clock.advance(30);
    void of.batcher.submit("b", { priority: 9 });
    await of.clock.advance(12);
    expect(of.batcher.stats().oldestWaitMs).toBe(42);
    of.batcher.resume();
    await echoAll(of);
    expect(of.batcher.stats().oldestWaitMs).toBe(0);
  });

  test("gives the share of time in which it was busy, from the first submit to the end of close()", async () => {
    const of = rig<string>();
    await of.clock.advance(60);
    void of.batcher.submit("a");
    await of.clock.advance(20);
    expect(of.batcher.stats().utilization).toBe(1);
    await of.clock.advance(20);
    await echo(of);
    await of.clock.advance(60);
    expect(of.batcher.stats()).toMatchObject({ utilization: 0.4, busyMs: 40, idleMs: 60 });
    await of.batcher.close();
    await of.clock.advance(900);
    expect(of.batcher.stats()).toMatchObject({ utilization: 0.4, busyMs: 40, idleMs: 60 });
  });
});
