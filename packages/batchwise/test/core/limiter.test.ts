// A whole batcher with a limiter, on the virtual clock. test/limits tests the limiter itself.

import { type BatchOptions, createBatcher, type RateLimiter, rateLimiter } from "batchwise";
import { describe, expect, test } from "vitest";
import { echo, echoAll, type Rig, range, rig, thrownBy, watch } from "../support.ts";

interface Limits {
  readonly callsPerMinute?: number;
  readonly costPerMinute?: number;
  readonly burstMs?: number;
}

/** A batcher with a limiter; an item is its own cost. `at`: when each call began. */
function limited(limits: Limits, options: BatchOptions<number, number> = {}): Rig<number, number> & { at: number[] } {
  const { clock } = rig();
  const of = rig<number>({
    clock,
    limiter: rateLimiter({ ...limits, clock }),
    cost: (item) => item,
    concurrency: 100,
    ...options,
  });
  const at: number[] = [];
  of.batcher.on("batch", ({ startedAt }) => at.push(startedAt));
  return { ...of, clock, at };
}

/** Advances time in steps and answers each call. */
async function pass(of: Rig<number, number>, ms: number, step = 10): Promise<void> {
  for (let moved = 0; moved < ms; moved += step) {
    await of.clock.advance(step);
    await echoAll(of);
  }
}

describe("the limit of calls", () => {
  test("lets a burst go at once, then a batch for each available call; the waiting batch grows", async () => {
    const of = limited({ callsPerMinute: 120 }); // two calls a second, a bucket of two
    for (const item of range(30)) {
      void of.batcher.submit(item);
      await of.clock.advance(50);
    }
    expect(of.handler.batches.map(({ length }) => length)).toEqual([1, 1, 8, 10, 10]);
    expect(of.handler.batches.flat()).toEqual(range(30));
  });

  test("holds at least one call, however short the burst", async () => {
    const of = limited({ callsPerMinute: 60, burstMs: 1 });
    void of.batcher.submit(1);
    await of.clock.settle();
    expect(of.handler.batches).toEqual([[1]]);
    void of.batcher.submit(2);
    await of.clock.advance(999);
    expect(of.handler.batches).toEqual([[1]]);
    await of.clock.advance(1);
    expect(of.handler.batches).toEqual([[1], [2]]);
  });

  test("adds no reason of its own", async () => {
    const of = limited({ callsPerMinute: 60 }, { maxBatchSize: 3 });
    const reasons: string[] = [];
    of.batcher.on("batch", ({ reason }) => reasons.push(reason));
    void of.batcher.submit(0);
    void of.batcher.submitMany([1, 2, 3, 4]);
    await pass(of, 1_000);
    void of.batcher.flush();
    await pass(of, 1_000);
    void of.batcher.submit(5);
    void of.batcher.close();
    await pass(of, 1_000);
    expect(of.handler.batches).toEqual([[0, 1, 2], [3, 4], [5]]);
    expect(reasons).toEqual(["size", "idle", "drain"]);
    expect(Object.keys(of.batcher.stats().batchesByReason).sort()).toEqual(
      ["cost", "deadline", "drain", "flush", "idle", "preferred", "size", "wait"].sort(),
    );
  });

  test("counts each lane's batch as a call", async () => {
    const of = limited({ callsPerMinute: 60 }, { key: (item) => `${item % 2}` });
    void of.batcher.submitMany([1, 2, 3, 4]);
    await of.clock.settle();
    expect(of.handler.batches).toEqual([[1, 3]]);
    await of.clock.advance(999);
    expect(of.handler.batches).toHaveLength(1);
    await of.clock.advance(1);
    expect(of.handler.batches).toEqual([
      [1, 3],
      [2, 4],
    ]);
  });

  test("no timer is left when nothing waits", async () => {
    const of = limited({ callsPerMinute: 60 });
    const answers = of.batcher.submitMany(range(3));
    await echoAll(of);
    await answers;
    expect(of.clock.timers).toBe(0);
    void of.batcher.submit(1);
    await of.clock.settle();
    expect(of.clock.timers).toBe(1);
    await pass(of, 1_000);
    expect(of.clock.timers).toBe(0);
  });
});

describe("the limit of cost", () => {
  test("a batch waits until its cost is available", async () => {
    const of = limited({ costPerMinute: 60_000 }); // one a millisecond, a bucket of 1,000
    void of.batcher.submit(1_000);
    await of.clock.settle();
    void of.batcher.submit(300);
    await of.clock.advance(299);
    expect(of.handler.batches).toEqual([[1_000]]);
    await of.clock.advance(1);
    expect(of.handler.batches).toEqual([[1_000], [300]]);
  });

  test("items that come meanwhile join: the batch waits for their cost, too", async () => {
    const of = limited({ costPerMinute: 60_000 });
    void of.batcher.submit(1_000);
    await of.clock.settle();
    void of.batcher.submit(300);
    await of.clock.advance(200);
    void of.batcher.submit(400);
    await of.clock.advance(499);
    expect(of.handler.batches).toHaveLength(1);
    await of.clock.advance(1);
    expect(of.handler.batches).toEqual([[1_000], [300, 400]]);
  });

  test("it waits for no more than a full bucket; then the batch is cut to it", async () => {
    const of = limited({ costPerMinute: 60_000 });
    void of.batcher.submit(1_000);
    await of.clock.settle();
    void of.batcher.submitMany([400, 400, 400, 400]);
    await of.clock.advance(999);
    expect(of.handler.batches).toHaveLength(1);
    await of.clock.advance(1);
    expect(of.handler.batches).toEqual([[1_000], [400, 400]]);
    await of.clock.advance(600); // what the cut batch did not use was given back
    expect(of.handler.batches).toEqual([[1_000], [400, 400], [400, 400]]);
  });

  test("an item that costs more than a full bucket goes alone and makes a debt", async () => {
    const of = limited({ costPerMinute: 60_000 });
    void of.batcher.submitMany([2_500, 10]);
    await of.clock.settle();
    expect(of.handler.batches).toEqual([[2_500]]);
    await of.clock.advance(1_509);
    expect(of.handler.batches).toHaveLength(1);
    await of.clock.advance(1);
    expect(of.handler.batches).toEqual([[2_500], [10]]);
  });

  test("holds for other measures than the sum", async () => {
    const of = limited({ costPerMinute: 60_000 }, { batchCost: "padded" });
    void of.batcher.submitMany([300, 300, 300, 300]);
    await of.clock.settle();
    expect(of.handler.batches).toEqual([[300, 300, 300]]);
    await of.clock.advance(200);
    expect(of.handler.batches).toEqual([[300, 300, 300], [300]]);
  });

  test("does not change `maxBatchSize` and `maxBatchCost`", async () => {
    const of = limited({ costPerMinute: 6_000_000 }, { maxBatchSize: 3, maxBatchCost: 10 });
    void of.batcher.submitMany([1, 1, 1, 1, 6, 6]);
    await of.clock.settle();
    expect(of.handler.batches).toEqual([[1, 1, 1], [1, 6], [6]]);
  });

  test("does not raise `maxBatchCost` for items that `reserve` submits", async () => {
    const urgent = [2, 2];
    const limiter: RateLimiter = {
      reserve: () => {
        void of.batcher.submitMany(urgent.splice(0), { priority: 1 });
        return { granted: true, cost: 6 };
      },
      giveBack: () => {},
      withdraw: () => {},
      hold: () => {},
    };
    const of = rig<number>({ limiter, cost: (item) => item, maxBatchCost: 3, oversize: "alone", concurrency: 3 });
    void of.batcher.submit(12);
    await of.clock.settle();
    expect(of.handler.batches).toEqual([[12], [2], [2]]);
  });
});

describe("while the limiter says no,", () => {
  test("priorities decide which items are in the batch when it goes", async () => {
    const of = limited({ callsPerMinute: 60 }, { maxBatchSize: 2 });
    void of.batcher.submit(0);
    await of.clock.settle();
    for (const [item, priority] of [1, 2, 3, 4].entries()) void of.batcher.submit(item + 1, { priority });
    await of.clock.advance(1_000);
    expect(of.handler.batches).toEqual([[0], [4, 3]]);
  });

  test("an urgent lane that comes late goes first", async () => {
    const of = limited({ callsPerMinute: 60 }, { key: (item) => `${item % 2}` });
    void of.batcher.submit(0);
    await of.clock.settle();
    void of.batcher.submit(1);
    await of.clock.advance(500);
    void of.batcher.submit(2, { priority: 5 });
    await of.clock.advance(500);
    expect(of.handler.batches).toEqual([[0], [2]]);
    await of.clock.advance(1_000);
    expect(of.handler.batches).toEqual([[0], [2], [1]]);
  });

  test("a batch takes no slot, and those that are free do not matter", async () => {
    const of = limited({ callsPerMinute: 60 }, { concurrency: 3 });
    void of.batcher.submit(0);
    await of.clock.settle();
    void of.batcher.submitMany([1, 2]);
    await of.clock.advance(500);
    expect(of.batcher.stats()).toMatchObject({ runningBatches: 1, waiting: 2 });
    await of.clock.advance(500);
    expect(of.handler.batches).toEqual([[0], [1, 2]]);
  });

  test("no call is requested while every slot is busy", async () => {
    const of = limited({ callsPerMinute: 60 }, { concurrency: 1 });
    void of.batcher.submit(0);
    await of.clock.settle();
    void of.batcher.submit(1);
    await of.clock.advance(5_000);
    expect(of.handler.batches).toEqual([[0]]);
    expect(of.clock.timers).toBe(0);
    await echo(of);
    expect(of.handler.batches).toEqual([[0], [1]]);
  });

  test("a deadline ends an item on time", async () => {
    const of = limited({ callsPerMinute: 60 });
    void of.batcher.submit(0);
    await of.clock.settle();
    const late = watch(of.batcher.submit(1, { timeoutMs: 100 }));
    await of.clock.advance(100);
    expect(late).toMatchObject({ reason: { code: "DEADLINE_EXCEEDED" } });
    expect(of.clock.timers).toBe(0);
    await of.clock.advance(2_000);
    expect(of.handler.batches).toEqual([[0]]);
  });

  test("a cancel ends an item at once", async () => {
    const of = limited({ callsPerMinute: 60 });
    void of.batcher.submit(0);
    await of.clock.settle();
    const leaving = new AbortController();
    const left = watch(of.batcher.submit(1, { signal: leaving.signal }));
    await of.clock.advance(100);
    leaving.abort();
    await of.clock.settle();
    expect(left.state).toBe("rejected");
    expect(of.clock.timers).toBe(0);
  });

  test("a batch that a cancel makes cheaper goes as soon as its cost is there", async () => {
    const of = limited({ costPerMinute: 60_000 });
    void of.batcher.submit(1_000);
    await of.clock.settle();
    const leaving = new AbortController();
    of.batcher.submit(900, { signal: leaving.signal }).catch(() => {});
    void of.batcher.submit(100);
    await of.clock.advance(100);
    leaving.abort();
    await of.clock.settle();
    expect(of.handler.batches).toEqual([[1_000], [100]]);
  });

  test("flush() waits for it, and settles when the covered items have", async () => {
    const of = limited({ callsPerMinute: 60 });
    void of.batcher.submit(0);
    await of.clock.settle();
    void of.batcher.submit(1);
    const flushed = watch(of.batcher.flush());
    await pass(of, 990);
    expect(of.handler.batches).toEqual([[0]]);
    expect(flushed.state).toBe("pending");
    await pass(of, 10);
    expect(of.handler.batches).toEqual([[0], [1]]);
    expect(flushed.state).toBe("fulfilled");
    expect(of.handler.calls[1]?.context.reason).toBe("flush");
  });

  test("flush() of a paused batcher keeps it, and sends no more than it covers", async () => {
    const of = limited({ callsPerMinute: 60 });
    void of.batcher.submit(0);
    await echoAll(of);
    of.batcher.pause();
    void of.batcher.submit(1);
    const flushed = watch(of.batcher.flush());
    void of.batcher.submit(2);
    await pass(of, 990);
    expect(of.handler.batches).toEqual([[0]]);
    await pass(of, 2_000);
    expect(of.handler.batches).toEqual([[0], [1]]);
    expect(flushed.state).toBe("fulfilled");
    expect(of.clock.timers).toBe(0);
  });

  test("a draining close() waits for it", async () => {
    const of = limited({ callsPerMinute: 60 }, { maxBatchSize: 2 });
    const answers = of.batcher.submitMany(range(5));
    const closed = watch(of.batcher.close());
    await pass(of, 990);
    expect(of.handler.batches).toEqual([[0, 1]]);
    await pass(of, 1_000);
    expect(closed.state).toBe("pending");
    await pass(of, 10);
    expect(of.handler.batches).toEqual([[0, 1], [2, 3], [4]]);
    expect(await answers).toEqual(range(5));
    expect(closed.state).toBe("fulfilled");
    expect(of.clock.timers).toBe(0);
  });

  test("close({ drain: false }) does not wait for it", async () => {
    const of = limited({ callsPerMinute: 60 });
    void of.batcher.submit(0);
    await echoAll(of);
    const rejected = watch(of.batcher.submit(1));
    await of.clock.settle();
    await of.batcher.close({ drain: false });
    expect(rejected).toMatchObject({ reason: { code: "CLOSED" } });
    expect(of.clock.timers).toBe(0);
    await of.clock.advance(5_000);
    expect(of.handler.batches).toEqual([[0]]);
  });

  test("pause() holds the waiting items, and resume() sends them when a call is available", async () => {
    const of = limited({ callsPerMinute: 60 });
    void of.batcher.submit(0);
    await of.clock.settle();
    void of.batcher.submit(1);
    await of.clock.advance(500);
    of.batcher.pause();
    await of.clock.advance(5_000);
    expect(of.handler.batches).toEqual([[0]]);
    expect(of.clock.timers).toBe(0);
    of.batcher.resume();
    await of.clock.settle();
    expect(of.handler.batches).toEqual([[0], [1]]);
  });

  test("an item that is full waits, and goes with its own reason", async () => {
    const of = limited({ callsPerMinute: 60 }, { maxBatchSize: 2, maxWaitMs: 50 });
    const reasons: string[] = [];
    of.batcher.on("batch", ({ reason }) => reasons.push(reason));
    void of.batcher.submitMany([1, 2, 3, 4, 5]);
    await pass(of, 3_000);
    expect(of.handler.batches).toEqual([[1, 2], [3, 4], [5]]);
    expect(reasons).toEqual(["size", "size", "wait"]);
  });

  test('`gather` "tick" gathers before it requests a call', async () => {
    const of = limited({ callsPerMinute: 60 }, { gather: "tick" });
    for (const item of [1, 2]) {
      void of.batcher.submit(item);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await of.clock.settle();
    expect(of.handler.batches).toEqual([[1, 2]]);
  });
});

describe("`limiter` as an option", () => {
  test("is refused with `prefetch`", () => {
    const limiter = rateLimiter({ callsPerMinute: 60 });
    const make = (prefetch: number) => () => createBatcher((items: number[]) => items, { limiter, prefetch });
    expect(thrownBy(make(1))).toMatchObject({ code: "INVALID_OPTION", message: expect.stringContaining("`prefetch`") });
    make(0)();
  });

  test("is refused where it is no limiter", () => {
    for (const limiter of [{}, { reserve() {} }, 5, null]) {
      expect(thrownBy(() => createBatcher((items: number[]) => items, { limiter: limiter as never }))).toMatchObject({
        code: "INVALID_OPTION",
        message: expect.stringContaining("`limiter`"),
      });
    }
  });
});
