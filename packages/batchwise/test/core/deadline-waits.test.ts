// Deadlines with a wait: a lane is held until its earliest deadline minus a batch's time, and one
// impatient caller does not end batching for all.

import { describe, expect, test } from "vitest";
import { echoAll, type Rig, range, rig, watch } from "../support.ts";

/** A rig with a wait of 50 ms whose earlier batches took 20 ms. */
async function warm(options: Parameters<typeof rig<number>>[0] = {}): Promise<Rig<number, number>> {
  const of = rig<number>({ maxWaitMs: 50, ...options });
  void of.batcher.submit(-1);
  void of.batcher.flush();
  await runFor(of, 100);
  return of;
}

/** Advances time and answers each batch 20 ms after its start. */
async function runFor(of: Rig<number, number>, forMs: number): Promise<void> {
  for (const _ of range(forMs)) {
    await of.clock.advance(1);
    for (const call of of.handler.open) {
      const { startedAt = 0 } = of.batcher.inspect().find(({ id }) => id === call.context.id) ?? {};
      if (of.clock.now() >= startedAt + 20) call.answer((item) => item);
    }
    await of.clock.settle();
  }
}

describe("a deadline beside a wait of 50 ms and a handler of 20 ms", () => {
  test.each([26, 30, 49, 50, 51, 60, 69, 70, 71, 75, 76, 77, 100])("of %i ms is met", async (timeoutMs) => {
    const of = await warm();
    const result = watch(of.batcher.submit(1, { timeoutMs }));
    await runFor(of, 150);
    expect(result.state).toBe("fulfilled");
  });

  test.each([
    [50, 24],
    [60, 34],
    [70, 44],
    [75, 49],
    [76, 50],
    [200, 50],
  ])(
    "of %i ms lets its lane gather for %i ms: 1.25 times the run time and 1 ms before it",
    async (timeoutMs, heldMs) => {
      const of = await warm();
      void of.batcher.submit(1, { timeoutMs });
      const from = of.clock.now();
      await runFor(of, heldMs - 1);
      expect(of.handler.calls).toHaveLength(1);
      void of.batcher.submit(2);
      await of.clock.advance(1);
      expect(of.handler.batches[1]).toEqual([1, 2]);
      expect([of.clock.now() - from, of.handler.calls[1]?.context.reason]).toEqual([
        heldMs,
        heldMs < 50 ? "deadline" : "wait",
      ]);
    },
  );

  test("of an impatient caller in each batch does not stop batching", async () => {
    const of = await warm({ concurrency: 4 });
    const results: Promise<number>[] = [];
    for (const item of range(100)) {
      results.push(of.batcher.submit(item, item % 10 === 0 ? { timeoutMs: 49 } : {}));
      await runFor(of, 4);
    }
    await runFor(of, 100);
    expect(await Promise.all(results)).toEqual(range(100));
    expect(of.handler.calls.length).toBeLessThan(20);
  });

  test("sends the lane at once where it is nearer than a batch takes", async () => {
    const of = await warm();
    void of.batcher.submitMany([1, 2]);
    await of.clock.advance(5);
    of.batcher.submit(3, { timeoutMs: 21 }).catch(() => {});
    await of.clock.settle();
    expect(of.handler.batches[1]).toEqual([1, 2, 3]);
    expect(of.handler.calls[1]?.context.reason).toBe("deadline");
    await echoAll(of);
  });

  test("counts no more when its caller has left", async () => {
    const of = await warm();
    const leave = new AbortController();
    void of.batcher.submit(1);
    of.batcher.submit(2, { timeoutMs: 40, signal: leave.signal }).catch(() => {});
    await of.clock.advance(5);
    leave.abort();
    await of.clock.advance(44);
    expect(of.handler.calls).toHaveLength(1);
    await of.clock.advance(1);
    expect(of.handler.batches[1]).toEqual([1]);
    await echoAll(of);
  });

  test("is that of the most impatient of all equal callers", async () => {
    const of = await warm({ dedupe: String });
    void of.batcher.submit(1);
    await of.clock.advance(1);
    const joined = watch(of.batcher.submit(1, { timeoutMs: 40 }));
    await of.clock.advance(13);
    expect(of.handler.calls).toHaveLength(1);
    await of.clock.advance(1);
    expect(of.handler.batches[1]).toEqual([1]);
    await echoAll(of);
    expect(joined.state).toBe("fulfilled");
  });

  test("of `timeoutMs` of the batcher counts like one of a submit", async () => {
    const of = await warm({ timeoutMs: 60 });
    const result = watch(of.batcher.submit(1));
    await of.clock.advance(33);
    expect(of.handler.calls).toHaveLength(1);
    await of.clock.advance(1);
    expect(of.handler.calls[1]?.context.reason).toBe("deadline");
    await runFor(of, 30);
    expect(result.state).toBe("fulfilled");
  });

  test("in a lane that is not the oldest is met, too", async () => {
    const of = await warm({ key: (item) => (item < 10 ? "a" : "b"), concurrency: 2 });
    void of.batcher.submit(1);
    await of.clock.advance(10);
    void of.batcher.submit(11, { timeoutMs: 40 });
    await of.clock.advance(14);
    expect(of.handler.batches[1]).toEqual([11]);
    await echoAll(of);
  });

  test("holds an endless wait no longer", async () => {
    const of = await warm({ maxWaitMs: Number.POSITIVE_INFINITY });
    const result = watch(of.batcher.submit(1, { timeoutMs: 1_000 }));
    await of.clock.advance(973);
    expect(of.handler.calls).toHaveLength(1);
    await of.clock.advance(1);
    expect(of.handler.batches[1]).toEqual([1]);
    await echoAll(of);
    expect(result.state).toBe("fulfilled");
  });
});

describe("before a first batch has ended", () => {
  test("a lane with a deadline inside the wait goes at once", async () => {
    const of = rig<number>({ maxWaitMs: 50 });
    void of.batcher.submitMany([1, 2]);
    await of.clock.advance(10);
    void of.batcher.submit(3, { timeoutMs: 40 });
    await of.clock.settle();
    expect(of.handler.batches).toEqual([[1, 2, 3]]);
    expect(of.handler.calls[0]?.context.reason).toBe("deadline");
    await echoAll(of);
  });

  test("a lane whose deadline lies behind the wait is held to its end", async () => {
    const of = rig<number>({ maxWaitMs: 50 });
    void of.batcher.submit(1, { timeoutMs: 51 });
    await of.clock.advance(49);
    expect(of.handler.calls).toHaveLength(0);
    await of.clock.advance(1);
    expect(of.handler.calls[0]?.context.reason).toBe("wait");
    await echoAll(of);
  });
});

test("the run time is the 95th percentile of the last 64 batches: older ones are forgotten", async () => {
  const of = rig<number>({ maxWaitMs: 50, maxBatchSize: 1 });
  const run = async (ms: number): Promise<void> => {
    void of.batcher.submit(0);
    await of.clock.advance(ms);
    await echoAll(of);
  };
  await run(1_000);
  for (const _ of range(64)) await run(4);
  of.batcher.configure({ maxBatchSize: 8 });
  void of.batcher.submit(1, { timeoutMs: 40 });
  await of.clock.advance(33);
  expect(of.handler.calls).toHaveLength(65);
  await of.clock.advance(1);
  expect(of.handler.calls).toHaveLength(66);
  await echoAll(of);
});

describe("the timers of a batcher", () => {
  test("are two at most: one for waits, one for deadlines, time limits and pauses", async () => {
    const of = rig<number>({
      key: String,
      maxWaitMs: 50,
      maxBatchSize: 2,
      concurrency: 4,
      handlerTimeoutMs: 500,
      retry: { attempts: 2, backoffMs: 30 },
    });
    let most = 0;
    for (const round of range(40)) {
      of.batcher.submit(round % 7, { timeoutMs: 200 + round }).catch(() => {});
      of.batcher.submit(round % 5, { signal: new AbortController().signal }).catch(() => {});
      await of.clock.advance(7);
      if (round % 3 === 0) of.handler.open[0]?.reject(new Error("again"));
      if (round % 3 === 1) of.handler.open[0]?.answer((item) => item);
      await of.clock.settle();
      most = Math.max(most, of.clock.timers);
    }
    expect(most).toBe(2);
    await of.clock.advance(2_000);
    expect(of.clock.timers).toBe(0);
    expect(of.batcher.stats()).toMatchObject({ waiting: 0, running: 0 });
  });

  test("are none while nothing waits or runs, whatever the options", async () => {
    const of = rig<number>({ maxWaitMs: 50, timeoutMs: 100, handlerTimeoutMs: 500, retry: { attempts: 2 } });
    expect(of.clock.timers).toBe(0);
    void of.batcher.submit(1);
    await of.clock.advance(60);
    await echoAll(of);
    expect(of.clock.timers).toBe(0);
  });
});
