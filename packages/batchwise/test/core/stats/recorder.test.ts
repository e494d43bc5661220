import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BatchReason, ItemOutcome } from "../../../src/core/contract/outcome.ts";
import type { BatcherStats } from "../../../src/core/contract/stats.ts";
import { Recorder } from "../../../src/core/stats/recorder.ts";
import { range } from "../../support.ts";
import { entryOf } from "../support/queue-kit.ts";

const nobody = {
  waiting: 0,
  blocked: 0,
  running: 0,
  runningBatches: 0,
  oldestAt: Number.POSITIVE_INFINITY,
  learned: null,
};
const outcomes = ["completed", "failed", "cancelled", "expired", "rejected"] as const;

function ended(stats: BatcherStats): number {
  return outcomes.reduce((sum, outcome) => sum + stats[outcome], 0);
}

interface Open {
  readonly size: number;
  readonly isRunning: boolean;
}

/** A batcher's life for the recorder, and a model of its counts since the last reset. */
class Life {
  readonly recorder = new Recorder();
  now = 0;
  /** Items that are neither in a batch nor ended. */
  #free = 0;
  #batches: Open[] = [];
  #submitted = 0;
  #counts: Record<ItemOutcome, number> = { completed: 0, failed: 0, cancelled: 0, expired: 0, rejected: 0 };
  #reasons: BatchReason[] = [];
  #startedAt: number | undefined;
  #busyMs = 0;

  advance(ms: number): void {
    if (this.#batches.some(({ isRunning }) => isRunning)) this.#busyMs += ms;
    this.now += ms;
  }

  submit(count: number): void {
    this.#startedAt ??= this.now;
    this.#submitted += count;
    this.#free += count;
    this.recorder.submitted(count, { at: this.now });
  }

  end(outcome: ItemOutcome, count: number): void {
    const times = Math.min(count, this.#free);
    if (times === 0) return;
    this.#free -= times;
    this.#counts[outcome] += times;
    this.recorder.ended(outcome, 1, times);
  }

  close(size: number, reason: BatchReason): void {
    const taken = Math.min(size, this.#free);
    if (taken === 0) return;
    this.#free -= taken;
    this.#reasons.push(reason);
    this.#batches.push({ size: taken, isRunning: true });
    const entries = range(taken).map((id) => entryOf({ id, at: this.now }));
    this.recorder.batchStarted(entries, reason, 2 * taken, this.now);
  }

  /** Pauses a batch, or lets it run again. */
  toggle(place: number): void {
    const index = place % Math.max(1, this.#batches.length);
    const batch = this.#batches[index];
    if (batch === undefined) return;
    this.#batches[index] = { ...batch, isRunning: !batch.isRunning };
    this.#tellRuns();
  }

  #tellRuns(): void {
    const isBusy = this.#batches.some(({ isRunning }) => isRunning);
    this.recorder.runs(isBusy, this.now);
  }

  finish(place: number): void {
    const [batch] = this.#batches.splice(place % Math.max(1, this.#batches.length), 1);
    if (batch === undefined) return;
    this.#tellRuns();
    this.recorder.batchEnded(1);
    this.#free += batch.size;
    this.end("completed", batch.size);
  }

  reset(): void {
    this.recorder.reset(this.now);
    this.#submitted = this.#free + this.#batches.reduce((sum, { size }) => sum + size, 0);
    this.#counts = { completed: 0, failed: 0, cancelled: 0, expired: 0, rejected: 0 };
    this.#reasons = [];
    this.#busyMs = 0;
    this.#startedAt = this.#submitted > 0 ? this.now : undefined;
  }

  check(): void {
    const stats = this.recorder.snapshot(nobody, this.now);
    const lifeMs = this.#startedAt === undefined ? 0 : this.now - this.#startedAt;
    expect(stats).toMatchObject({ submitted: this.#submitted, ...this.#counts });
    expect(stats.submitted - ended(stats)).toBe(this.#free + this.#batches.reduce((sum, { size }) => sum + size, 0));
    expect(stats).toMatchObject({
      batches: this.#reasons.length,
      averageBatchCost: 2 * stats.averageBatchSize,
    });
    for (const [reason, count] of Object.entries(stats.batchesByReason)) {
      expect(count).toBe(this.#reasons.filter((other) => other === reason).length);
    }
    expect(stats.busyMs).toBeCloseTo(this.#busyMs, 6);
    expect(stats.busyMs + stats.idleMs).toBeCloseTo(lifeMs, 6);
    expect(stats.utilization).toBeCloseTo(lifeMs > 0 ? this.#busyMs / lifeMs : 0, 6);
  }
}

const step = fc.oneof(
  fc.record({ submit: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ end: fc.constantFrom(...outcomes), count: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ close: fc.integer({ min: 1, max: 4 }), reason: fc.constantFrom<BatchReason[]>("size", "idle", "drain") }),
  fc.record({ toggle: fc.nat(9) }),
  fc.record({ finish: fc.nat(9) }),
  fc.record({ advance: fc.integer({ min: 1, max: 50 }) }),
  fc.constant("reset" as const),
);

type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never;

function apply(life: Life, next: Step): void {
  if (next === "reset") life.reset();
  else if ("submit" in next) life.submit(next.submit);
  else if ("end" in next) life.end(next.end, next.count);
  else if ("close" in next) life.close(next.close, next.reason);
  else if ("toggle" in next) life.toggle(next.toggle);
  else if ("finish" in next) life.finish(next.finish);
  else life.advance(next.advance);
}

describe("a recorder", () => {
  test("counts all that is submitted, ends, runs and pauses, from the first submit or the last reset on", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
        const life = new Life();
        for (const next of steps) {
          apply(life, next);
          life.check();
        }
      }),
      { numRuns: 60 },
    );
  });

  test("stops the time when the batcher has closed", () => {
    const recorder = new Recorder();
    recorder.submitted(1, { at: 100 });
    recorder.runs(true, 120);
    recorder.runs(true, 130);
    recorder.runs(false, 140);
    recorder.closed(180);
    recorder.closed(500);
    expect(recorder.snapshot(nobody, 9_000)).toMatchObject({ busyMs: 20, idleMs: 60, utilization: 0.25 });
  });

  test("keeps latencies of answered items only", () => {
    const recorder = new Recorder();
    recorder.submitted(6, { at: 0 });
    recorder.ended("completed", 10, 3);
    recorder.ended("failed", 40, 1);
    for (const outcome of ["cancelled", "expired"] as const) recorder.ended(outcome, 1e6, 1);
    expect(recorder.snapshot(nobody, 0).latencyMs).toMatchObject({ mean: 17.5, max: 40 });
  });

  test("keeps waits by item and run times by batch, with counts in whole numbers", () => {
    const recorder = new Recorder();
    const waited = [8, 8, 1, 1, 1, 1, 1].map((waitMs, id) => entryOf({ id, at: 100 - waitMs }));
    expect(recorder.batchStarted(waited, "size", 9.5, 100)).toBe(8);
    recorder.batchEnded(30);
    const { waitMs, runMs, batchSize, batchCost } = recorder.snapshot(nobody, 0);
    expect([waitMs.mean, waitMs.max, runMs.max, batchSize.p50, batchCost.max]).toEqual([3, 8, 30, 7, 9.5]);
  });

  test("reports how long the oldest waits, never a negative time, and the figures from the engine", () => {
    const recorder = new Recorder();
    const of = (oldestAt: number): BatcherStats =>
      recorder.snapshot({ ...nobody, waiting: 2, blocked: 5, running: 3, oldestAt }, 42);
    expect([of(30).oldestWaitMs, of(50).oldestWaitMs, recorder.snapshot(nobody, 42).oldestWaitMs]).toEqual([12, 0, 0]);
    expect(of(30)).toMatchObject({ waiting: 2, blocked: 5, running: 3 });
  });

  test("counts callers who joined and callers answered from a cache until the next reset", () => {
    const recorder = new Recorder();
    recorder.joined();
    recorder.foundInCache(3);
    expect(recorder.snapshot(nobody, 0)).toMatchObject({ deduped: 1, cacheHits: 3 });
    recorder.reset(0);
    expect(recorder.snapshot(nobody, 0)).toMatchObject({ deduped: 0, cacheHits: 0 });
  });

  test("gives out snapshots that stay as they are", () => {
    const recorder = new Recorder();
    const before = recorder.snapshot(nobody, 0);
    recorder.batchStarted([entryOf({ id: 0 })], "idle", 1, 0);
    expect([before.batches, before.batchesByReason.idle]).toEqual([0, 0]);
    expect([before, before.batchesByReason, before.waitMs].every(Object.isFrozen)).toBe(true);
  });
});
