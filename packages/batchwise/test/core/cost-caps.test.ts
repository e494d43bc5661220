import { type BatchOptions, createBatcher, rateLimiter } from "batchwise";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { echoAll, range, reasonOf, rig } from "../support.ts";

const weigh = (item: number): number => item;

describe("a cost cap", () => {
  test("is never exceeded, and items keep their order under it", async () => {
    const of = rig<number>({ cost: weigh, maxBatchCost: 10, maxBatchSize: 4 });
    const items = range(200).map((index) => (index * 7) % 11);
    void of.batcher.submitMany(items);
    await echoAll(of);
    for (const call of of.handler.calls) {
      const sum = call.items.reduce((total, item) => total + item, 0);
      expect(sum).toBeLessThanOrEqual(10);
      expect(call.context.cost).toBe(sum);
      expect(call.items.length).toBeLessThanOrEqual(4);
    }
    expect(of.handler.batches.flat()).toEqual(items);
  });

  test("is not bent by a cheap item behind an expensive one: no item overtakes", async () => {
    const of = rig<number>({ cost: weigh, maxBatchCost: 10 });
    void of.batcher.submitMany([6, 6, 1, 1]);
    await echoAll(of);
    expect(of.handler.batches).toEqual([[6], [6, 1, 1]]);
  });

  test("may be met exactly", async () => {
    const of = rig<number>({ cost: weigh, maxBatchCost: 10 });
    void of.batcher.submitMany([5, 5, 5, 5]);
    await echoAll(of);
    expect(of.handler.batches).toEqual([
      [5, 5],
      [5, 5],
    ]);
  });

  test("holds with fractions that do not add up in binary", async () => {
    const of = rig<number>({ cost: () => 0.1, maxBatchCost: 0.3 });
    void of.batcher.submitMany(range(10));
    await echoAll(of);
    for (const call of of.handler.calls) expect(call.context.cost).toBeLessThanOrEqual(0.3);
    expect(of.handler.batches.flat()).toEqual(range(10));
  });

  test("applies only the size cap to items without cost", async () => {
    const of = rig<number>({ cost: () => 0, maxBatchCost: 1, maxBatchSize: 3 });
    void of.batcher.submitMany(range(6));
    await echoAll(of);
    expect(of.handler.batches).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
  });

  test("counts each item as one where no cost is given", async () => {
    const of = rig<number>({ maxBatchCost: 3 });
    void of.batcher.submitMany(range(7));
    await echoAll(of);
    expect(of.handler.batches.map((items) => items.length)).toEqual([3, 3, 1]);
  });

  test("goes by the item's own cost where a submit gives one", async () => {
    const of = rig<number>({ cost: () => 1, maxBatchCost: 10 });
    void of.batcher.submit(1, { cost: 9 });
    void of.batcher.submit(2, { cost: 2 });
    await echoAll(of);
    expect(of.handler.batches).toEqual([[1], [2]]);
  });

  test("does not call `cost` for an item that has its own", async () => {
    const { batcher } = rig<number>({
      cost: () => {
        throw new Error("not to be called");
      },
    });
    expect(await reasonOf(batcher.submit(1))).toEqual(new Error("not to be called"));
    void batcher.submit(2, { cost: 4 });
    expect(batcher.stats()).toMatchObject({ submitted: 2, failed: 1 });
  });
});

describe("an item over the cap by itself", () => {
  test("is refused with ITEM_TOO_LARGE, which names both numbers", async () => {
    const { batcher } = rig<number>({ cost: weigh, maxBatchCost: 10 });
    const error = await reasonOf(batcher.submit(11));
    expect(error).toMatchObject({ name: "BatchwiseError", code: "ITEM_TOO_LARGE", retryable: false });
    expect(String(error)).toMatch(/11.*10/);
    expect(batcher.stats()).toMatchObject({ submitted: 1, rejected: 1, failed: 0 });
  });

  test("does not affect its neighbours when it is refused", async () => {
    const of = rig<number>({ cost: weigh, maxBatchCost: 10 });
    void of.batcher.submitSettled([4, 11, 4]);
    await echoAll(of);
    expect(of.handler.batches).toEqual([[4, 4]]);
  });

  test('runs alone, in its turn, with `oversize: "alone"`', async () => {
    const of = rig<number>({ cost: weigh, maxBatchCost: 10, oversize: "alone" });
    void of.batcher.submitMany([4, 11, 4, 4]);
    await echoAll(of);
    expect(of.handler.batches).toEqual([[4], [11], [4, 4]]);
  });

  test("counts by `batchCost` of this item alone", async () => {
    const { batcher } = rig<number>({ batchCost: (items) => items.reduce((a, b) => a + b * b, 0), maxBatchCost: 10 });
    expect(await reasonOf(batcher.submit(4))).toMatchObject({ code: "ITEM_TOO_LARGE" });
  });
});

describe("the cost of a batch", () => {
  test("is the number of items times the largest when padded", async () => {
    const of = rig<number>({ cost: weigh, batchCost: "padded", maxBatchCost: 12 });
    void of.batcher.submitMany([1, 2, 3, 4, 4, 1, 1, 1]);
    await echoAll(of);
    expect(of.handler.batches).toEqual([
      [1, 2, 3],
      [4, 4, 1],
      [1, 1],
    ]);
  });

  test("may be any function that grows with the items", async () => {
    const of = rig<number>({ batchCost: (items) => new Set(items).size, maxBatchCost: 2 });
    void of.batcher.submitMany([1, 1, 2, 2, 1, 3, 3, 4, 5]);
    await echoAll(of);
    expect(of.handler.batches).toEqual([[1, 1, 2, 2, 1], [3, 3, 4], [5]]);
  });

  test("may be taken from an array that the function empties: it is a copy", async () => {
    const of = rig<number>({ batchCost: (items) => (items as number[]).splice(0).length, maxBatchCost: 3 });
    void of.batcher.submitMany(range(7));
    await echoAll(of);
    expect(of.handler.batches.flat()).toEqual(range(7));
  });
});

describe("a cost function", () => {
  interface Looks {
    /** Reads per item, at its submit and in all batches. */
    readonly anItem: number;
    readonly batches: readonly (readonly number[])[];
  }

  const measures: Readonly<Record<string, (items: readonly number[]) => number>> = {
    sum: (items) => items.reduce((sum, item) => sum + item, 0),
    padded: (items) => items.length * Math.max(...items),
    squares: (items) => items.reduce((sum, item) => sum + item, 0) ** 2,
    steps: (items) => Math.ceil(items.length / 50) * 10,
    distinct: (items) => new Set(items).size,
  };

  async function looksOf(
    items: readonly number[],
    measure: (items: readonly number[]) => number,
    options: BatchOptions<number, number>,
  ): Promise<Looks> {
    let looks = 0;
    const batchCost = (some: readonly number[]): number => {
      looks += some.length;
      return measure(some);
    };
    const of = rig<number>({ oversize: "alone", maxQueueSize: Number.POSITIVE_INFINITY, ...options, batchCost });
    void of.batcher.submitMany(items);
    await echoAll(of);
    await of.clock.advance(options.maxWaitMs ?? 0);
    await echoAll(of);
    expect(of.handler.batches.flat()).toEqual(items);
    return { anItem: looks / items.length, batches: of.handler.batches };
  }

  test("sees an item at most 12 times on average where all come in one turn, whatever waits, whatever the caps and whatever it measures", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 1_500, size: "max" }),
        fc.constantFrom(...Object.values(measures)),
        fc.constantFrom(1, 2, 10, 37, 100, 1_000, 10_000, 1e6),
        fc.constantFrom(1, 8, 32, 1_000, 100_000),
        fc.constantFrom(0, 50),
        async (items, measure, maxBatchCost, maxBatchSize, maxWaitMs) => {
          const { anItem } = await looksOf(items, measure, { maxBatchCost, maxBatchSize, maxWaitMs });
          expect(anItem).toBeLessThanOrEqual(12);
        },
      ),
      { numRuns: 60, endOnFailure: true },
    );
  });

  test.each([5_000, 20_000])("sees an item about 8 times where costs add up, however many wait: %i", async (size) => {
    const items = range(size).map((index) => 1 + ((index * 7) % 9));
    const limits = { maxBatchCost: 100, maxBatchSize: 100_000 };
    const { anItem, batches } = await looksOf(items, measures.sum as never, limits);
    expect(anItem).toBeLessThanOrEqual(9);
    expect(batches.length).toBe(
      (await looksOf(items, measures.sum as never, { ...limits, maxBatchSize: 32 })).batches.length,
    );
  });

  // Each item separately at its submit, then the whole batch after each turn. With one item a turn,
  // 10.5 and 130.5 times.
  test.each([
    ["maxWaitMs", 20, 1],
    ["maxWaitMs", 260, 1],
    ["maxWaitMs", 260, 5],
    ["a limiter", 20, 1],
    ["a limiter", 260, 1],
    ["a limiter", 260, 5],
  ] as const)(
    "sees the whole batch once a turn while %s holds it: %i items, %i a turn",
    async (holder, size, aTurn) => {
      let looks = 0;
      const batchCost = (items: readonly number[]): number => {
        looks += items.length;
        return items.length;
      };
      const { clock } = rig();
      const used = rateLimiter({ costPerMinute: 60_000, burstMs: 1_000, clock });
      const holds = holder === "maxWaitMs" ? { maxWaitMs: 1_000 } : { limiter: used, concurrency: 2 };
      const of = rig<number>({ clock, ...holds, batchCost, maxBatchCost: 1_000, maxBatchSize: 100_000 });
      if (holder === "a limiter") void of.batcher.submitMany(range(1_000));
      await clock.settle();
      looks = 0;
      const sizes = range(size / aTurn).map((turn) => (turn + 1) * aTurn);
      for (const _ of sizes) {
        void of.batcher.submitMany(range(aTurn));
        await clock.settle();
      }
      const whole = sizes.reduce((sum, each) => sum + each, 0);
      // The first two turns may be measured once more.
      expect(looks - size).toBeGreaterThanOrEqual(whole - sizes.length);
      expect(looks - size).toBeLessThanOrEqual(whole + 2 * aTurn);
      expect(of.handler.calls.length).toBe(holder === "maxWaitMs" ? 0 : 1);
    },
  );

  test("is not called again for a batch that has not changed while a limiter holds it", async () => {
    let looks = 0;
    const { clock } = rig();
    const of = rig<number>({
      clock,
      limiter: rateLimiter({ costPerMinute: 600, burstMs: 1_000, clock }),
      batchCost: (items) => {
        looks += items.length;
        return items.length;
      },
      maxBatchCost: 10,
      concurrency: 2,
      maxQueueSize: Number.POSITIVE_INFINITY,
    });
    void of.batcher.submitMany(range(20));
    await of.clock.settle();
    for (const item of range(100)) {
      void of.batcher.submit(item);
      await of.clock.settle();
    }
    expect(of.handler.calls.length).toBe(1);
    expect(looks).toBeLessThan(120 + 150);
  });
});

describe("a cost that cannot be used", () => {
  const thrown = new Error("no weight");
  const costs: Record<string, unknown> = {
    NaN: Number.NaN,
    negative: -1,
    infinite: Number.POSITIVE_INFINITY,
    text: "5",
    nothing: undefined,
    null: null,
    bigint: 5n,
    promise: Promise.resolve(1),
  };

  test.each(Object.keys(costs))("rejects only that item with a RangeError: %s", async (name) => {
    const batcher = createBatcher((items: string[]) => items, {
      cost: (item) => (item === name ? costs[name] : 1) as number,
      maxBatchCost: 10,
    });
    const [before, wrong, after] = await batcher.submitSettled(["before", name, "after"]);
    expect([before?.status, after?.status]).toEqual(["fulfilled", "fulfilled"]);
    const reason = wrong?.status === "rejected" ? wrong.reason : undefined;
    expect(reason).toBeInstanceOf(RangeError);
    expect(reason).toMatchObject({ code: "INVALID_OPTION" });
    expect(batcher.stats()).toMatchObject({ completed: 2, failed: 1 });
  });

  test("rejects only that item with the error of `cost`", async () => {
    const batcher = createBatcher((items: number[]) => items, {
      cost: (item) => {
        if (item === 2) throw thrown;
        return 1;
      },
    });
    const settled = await batcher.submitSettled([1, 2, 3]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(settled[1]).toEqual({ status: "rejected", reason: thrown });
  });

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY])("is refused as a submit option too: %s", async (cost) => {
    const error = await reasonOf(rig<number>().batcher.submit(1, { cost }));
    expect(error).toBeInstanceOf(RangeError);
    expect(error).toMatchObject({ code: "INVALID_OPTION" });
  });
});
