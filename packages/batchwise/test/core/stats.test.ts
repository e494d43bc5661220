import { describe, expect, test } from "vitest";
import { StepColumn } from "../../src/core/queue/step-column.ts";
import { Tally } from "../../src/core/stats/recorder.ts";

/** The moments at which items were submitted, one in each turn and the rest in the last. */
function at(...times: readonly number[]): StepColumn {
  const moments = new StepColumn();
  for (const [index, time] of times.entries()) moments.add(index, time);
  return moments;
}

const nobody = { waiting: 0, oldestAt: Number.POSITIVE_INFINITY };

describe("a tally", () => {
  test("counts time in which several batches run once", () => {
    const tally = new Tally(0);
    tally.batchStarted("idle", 1, 1, at(10), 10);
    tally.batchStarted("idle", 1, 1, at(20), 20);
    tally.batchEnded(1, 20, 30);
    tally.batchEnded(1, 30, 50);
    expect(tally.snapshot(nobody, 100).utilization).toBe(0.4);
  });

  test("counts the time of a batch that still runs", () => {
    const tally = new Tally(0);
    tally.batchStarted("idle", 3, 3, at(40), 40);
    expect(tally.snapshot(nobody, 80)).toMatchObject({ utilization: 0.5, running: 3 });
  });

  test("is zero before any time has passed", () => {
    expect(new Tally(5).snapshot(nobody, 5).utilization).toBe(0);
  });

  test("averages over all batches, by size and by cost", () => {
    const tally = new Tally(0);
    tally.batchStarted("size", 4, 10, at(0), 0);
    tally.batchStarted("cost", 1, 50, at(0), 0);
    const stats = tally.snapshot(nobody, 0);
    expect(stats).toMatchObject({ batches: 2, averageBatchSize: 2.5, averageBatchCost: 30 });
    expect(stats.batchesByReason).toMatchObject({ size: 1, cost: 1, idle: 0 });
  });

  test("keeps latencies of answered items only", () => {
    const tally = new Tally(0);
    tally.ended("completed", 6);
    tally.answeredTogether(at(1, 3), [5, 1], 4);
    tally.answered("failed", 9);
    tally.ended("expired", 2);
    const stats = tally.snapshot(nobody, 10);
    expect(stats).toMatchObject({ completed: 6, failed: 1, expired: 2, latencyMs: { max: 9 } });
    expect(stats.latencyMs.p50).toBeCloseTo(3, 0);
  });

  test("records a wait for every item, by the turn in which it was submitted", () => {
    const tally = new Tally(0);
    tally.batchStarted("size", 7, 7, at(2, 5, 9), 10);
    expect(tally.snapshot(nobody, 10).waitMs).toMatchObject({ max: 8 });
    expect(tally.snapshot(nobody, 10).waitMs.p50).toBeCloseTo(1, 1);
    expect(tally.snapshot(nobody, 10).waitMs.p95).toBeCloseTo(8, 0);
  });

  test("tells how long the oldest waits, never less than nothing", () => {
    const tally = new Tally(0);
    expect(tally.snapshot({ waiting: 2, oldestAt: 30 }, 42).oldestWaitMs).toBe(12);
    expect(tally.snapshot({ waiting: 2, oldestAt: 50 }, 42).oldestWaitMs).toBe(0);
    expect(tally.snapshot(nobody, 42).oldestWaitMs).toBe(0);
  });

  test("gives out snapshots that stay as they are", () => {
    const tally = new Tally(0);
    const before = tally.snapshot(nobody, 0);
    tally.batchStarted("idle", 1, 1, at(0), 0);
    expect(before.batches).toBe(0);
    expect(before.batchesByReason.idle).toBe(0);
    expect([before, before.batchesByReason, before.waitMs].every(Object.isFrozen)).toBe(true);
  });
});
