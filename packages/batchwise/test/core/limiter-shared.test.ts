// Batchers that share a limiter, on the virtual clock: they keep the limit together and are served
// in the order of their requests.

import { type Batcher, type BatchOptions, createBatcher, type RateLimiter, rateLimiter } from "batchwise";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { range } from "../support.ts";

interface Call {
  readonly name: string;
  readonly at: number;
  readonly items: readonly number[];
  readonly cost: number;
}

interface World {
  readonly clock: VirtualClock;
  readonly limiter: RateLimiter;
  readonly calls: Call[];
  /** A batcher whose handler takes `callMs`; an item is its own cost. */
  make(name: string, options?: BatchOptions<number, number>, callMs?: number): Batcher<number, number>;
}

function world(limits: { callsPerMinute?: number; costPerMinute?: number; burstMs?: number }): World {
  const clock = virtualClock();
  const limiter = rateLimiter({ ...limits, clock });
  const calls: Call[] = [];
  const make: World["make"] = (name, options = {}, callMs = 0) =>
    createBatcher<number, number>(
      async (items, { cost }) => {
        calls.push({ name, at: clock.now(), items, cost });
        if (callMs > 0) await new Promise<void>((resolve) => void clock.setTimeout(resolve, callMs));
        return items;
      },
      { clock, limiter, name, cost: (item) => item, concurrency: 100, ...options },
    );
  return { clock, limiter, calls, make };
}

const namesOf = (calls: readonly Call[]): string[] => calls.map(({ name }) => name);

describe("batchers that share a limiter", () => {
  test("are served in the order of their requests", async () => {
    const { clock, calls, make } = world({ callsPerMinute: 60 });
    const batchers = ["a", "b", "c", "d"].map((name) => make(name));
    void make("first").submit(0);
    await clock.settle();
    for (const batcher of batchers.toReversed()) {
      void batcher.submit(1);
      await clock.advance(1);
    }
    void batchers[0]?.submit(2);
    void batchers[3]?.submit(2);
    await clock.advance(4_000);
    expect(namesOf(calls)).toEqual(["first", "d", "c", "b", "a"]);
    expect(calls.map(({ at }) => at)).toEqual([0, 1_000, 2_000, 3_000, 4_000]);
    expect(clock.timers).toBe(0);
  });

  test("go to the end when they have been served and have more", async () => {
    const { clock, calls, make } = world({ callsPerMinute: 60 });
    const [a, b] = [make("a", { maxBatchSize: 1 }), make("b", { maxBatchSize: 1 })];
    void a.submitMany([1, 2, 3]);
    await clock.settle();
    void b.submitMany([1, 2, 3]);
    await clock.advance(10_000);
    expect(namesOf(calls)).toEqual(["a", "a", "b", "a", "b", "b"]);
  });

  test("do not overtake with a cheaper batch", async () => {
    const { clock, calls, make } = world({ costPerMinute: 60_000 });
    void make("first").submit(1_000);
    await clock.settle();
    void make("dear").submit(800);
    await clock.settle();
    void make("cheap").submit(10);
    await clock.advance(810);
    expect(calls.map(({ name, at }) => [name, at])).toEqual([
      ["first", 0],
      ["dear", 800],
      ["cheap", 810],
    ]);
  });

  test("keep their place when a batch of theirs ends", async () => {
    const { clock, calls, make } = world({ callsPerMinute: 60, costPerMinute: 6_000_000 });
    const a = make("a", { maxBatchCost: 50 }, 300);
    void a.submit(1);
    await clock.settle();
    void a.submit(2);
    await clock.advance(10);
    void make("b").submit(1);
    await clock.advance(1_990);
    expect(namesOf(calls)).toEqual(["a", "a", "b"]);
  });

  test("keep their place while they gather by pass", async () => {
    const { clock, calls, make } = world({ callsPerMinute: 60 });
    const a = make("a", { gather: "tick" });
    void a.submit(0);
    await clock.settle();
    void a.submit(1);
    await clock.advance(10);
    void make("b").submit(1);
    await clock.advance(10);
    for (const item of range(5)) {
      void a.submit(item + 2);
      await clock.advance(10);
    }
    await clock.advance(1_930);
    expect(calls.map(({ name, items }) => [name, items.length])).toEqual([
      ["a", 1],
      ["a", 6],
      ["b", 1],
    ]);
  });

  test("leave the line at once when they are paused", async () => {
    const { clock, calls, make } = world({ costPerMinute: 60_000 });
    const [a, b] = [make("a"), make("b")];
    void a.submit(1_000);
    await clock.settle();
    void a.submit(900);
    await clock.settle();
    void b.submit(100);
    await clock.settle();
    a.pause();
    await clock.advance(100);
    expect(calls.map(({ name, at }) => [name, at])).toEqual([
      ["a", 0],
      ["b", 100],
    ]);
    a.resume();
    await clock.advance(900);
    expect(namesOf(calls)).toEqual(["a", "b", "a"]);
  });

  test("leave the line when `configure` takes the slot for which they wait", async () => {
    const { clock, calls, make } = world({ costPerMinute: 60_000 });
    const [a, b] = [make("a", { concurrency: 2 }, 5_000), make("b")];
    void a.submit(1_000);
    await clock.settle();
    void a.submit(900);
    await clock.settle();
    void b.submit(100);
    await clock.settle();
    a.configure({ concurrency: 1 });
    await clock.advance(100);
    expect(calls.map(({ name, at }) => [name, at])).toEqual([
      ["a", 0],
      ["b", 100],
    ]);
    await clock.runAll();
    expect(calls.map(({ name, at }) => [name, at])).toContainEqual(["a", 5_000]);
  });

  test("leave the line at once when all of their callers have cancelled", async () => {
    const { clock, calls, make } = world({ costPerMinute: 60_000 });
    const [a, b] = [make("a"), make("b")];
    void a.submit(1_000);
    await clock.settle();
    const leaving = new AbortController();
    a.submit(900, { signal: leaving.signal }).catch(() => {});
    await clock.settle();
    void b.submit(100);
    await clock.advance(50);
    leaving.abort();
    await clock.advance(50);
    expect(calls.map(({ name, at }) => [name, at])).toEqual([
      ["a", 0],
      ["b", 100],
    ]);
  });

  test("leave the line at once when one is closed", async () => {
    const { clock, calls, make } = world({ costPerMinute: 60_000 });
    const [a, b] = [make("a"), make("b")];
    void a.submit(1_000);
    await clock.settle();
    a.submit(900).catch(() => {});
    await clock.settle();
    void b.submit(100);
    await clock.settle();
    await a.close({ drain: false });
    await clock.advance(100);
    expect(namesOf(calls)).toEqual(["a", "b"]);
  });

  test("are served one after the other where a synchronous handler of one submits to the next", async () => {
    const { clock, calls, limiter, make } = world({ callsPerMinute: 60 });
    const b = make("b");
    const a = createBatcher(
      (items: number[]) => {
        calls.push({ name: "a", at: clock.now(), items, cost: 0 });
        void b.submit(items[0] as number);
        return items;
      },
      { clock, limiter, concurrency: 100 },
    );
    void a.submit(1);
    await clock.advance(1_500);
    void make("c").submit(1);
    void a.submit(2);
    await clock.advance(5_000);
    expect(calls.map(({ name, at }) => [name, at])).toEqual([
      ["a", 0],
      ["b", 1_000],
      ["c", 2_000],
      ["a", 3_000],
      ["b", 4_000],
    ]);
  });
});

describe("16 batchers that share a limiter", () => {
  const COUNT = 16;
  const limits = fc.record({
    callsPerMinute: fc.integer({ min: 30, max: 3_000 }),
    costPerMinute: fc.integer({ min: 6_000, max: 600_000 }),
    burstMs: fc.integer({ min: 100, max: 3_000 }),
  });
  const arrival = fc.record({
    afterMs: fc.integer({ min: 0, max: 60 }),
    batcher: fc.nat(COUNT - 1),
    cost: fc.integer({ min: 0, max: 400 }),
    priority: fc.constantFrom(0, 0, 0, 1),
    key: fc.constantFrom(undefined, undefined, "k"),
  });
  const shape = fc.record({
    gather: fc.constantFrom("turn" as const, "tick" as const),
    concurrency: fc.constantFrom(1, 2, 100),
    maxBatchSize: fc.constantFrom(1, 4, 32),
    maxWaitMs: fc.constantFrom(0, 0, 20),
    callMs: fc.constantFrom(0, 10, 200),
  });

  test("keep the limit, lose no item and keep no timer, however items arrive", async () => {
    await fc.assert(
      fc.asyncProperty(limits, shape, fc.array(arrival, { maxLength: 150 }), async (given, options, arrivals) => {
        const { callMs, ...rest } = options;
        const { clock, calls, make } = world(given);
        const batchers = range(COUNT).map((index) => make(`${index}`, rest, callMs));
        const answers: Promise<number>[] = [];
        for (const { afterMs, batcher, cost, priority, key } of arrivals) {
          await clock.advance(afterMs);
          answers.push(batchers[batcher]?.submit(cost, { priority, ...(key && { key }) }) as Promise<number>);
        }
        await clock.runAll();
        expect(await Promise.all(answers)).toEqual(arrivals.map(({ cost }) => cost));
        expectWithin(given, calls, Math.max(0, ...arrivals.map(({ cost }) => cost)));
        expect(clock.timers).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  /**
   * Expects at most the rate, one full bucket and, for cost, the debt of one item in any interval.
   */
  function expectWithin(
    given: { callsPerMinute: number; costPerMinute: number; burstMs: number },
    calls: readonly Call[],
    dearest: number,
  ): void {
    const callsPerMs = given.callsPerMinute / 60_000;
    const costPerMs = given.costPerMinute / 60_000;
    const bucket = Math.max(costPerMs * given.burstMs, dearest);
    for (const [from, first] of calls.entries()) {
      let cost = 0;
      for (const [offset, call] of calls.slice(from).entries()) {
        cost += call.cost;
        const windowMs = call.at - first.at;
        const most = callsPerMs * windowMs + Math.max(1, callsPerMs * given.burstMs);
        expect(offset + 1).toBeLessThanOrEqual(most + 1e-6);
        expect(cost).toBeLessThanOrEqual(costPerMs * windowMs + bucket + 1e-6 * bucket);
      }
    }
  }
});
