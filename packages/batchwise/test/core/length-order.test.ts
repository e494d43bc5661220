// `order: "length"`: waiting items with the least padding share a batch, and the first waiting one
// is in it.

import { batch, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";

interface Text {
  readonly length: number;
  readonly name?: string;
}

/** Records the items of each call; a call takes `ms` on the virtual clock. */
function recorder(ms = 10): {
  readonly clock: ReturnType<typeof virtualClock>;
  readonly calls: number[][];
  readonly handler: (items: number[]) => Promise<number[]>;
} {
  const clock = virtualClock();
  const calls: number[][] = [];
  const handler = async (items: number[]): Promise<number[]> => {
    calls.push([...items]);
    await new Promise<void>((resolve) => clock.setTimeout(resolve, ms));
    return items.map((item) => -item);
  };
  return { clock, calls, handler };
}

const byLength = { order: "length", cost: (length: number) => length } as const;

describe('order: "length"', () => {
  test("puts items of like length together, the first of all in every batch, and gives each its own answer", async () => {
    const { clock, calls, handler } = recorder();
    const embed = batch(handler, { ...byLength, maxBatchCost: 400, clock });
    const lengths = [100, 5, 98, 7, 99, 6, 101];
    const answers = Promise.all(lengths.map((length) => embed(length)));
    await clock.runAll();
    expect(await answers).toEqual(lengths.map((length) => -length));
    expect(calls).toEqual([[100, 98, 99], [5, 7, 6], [101]]);
  });

  test("uses padded cost by default, and no batch is over its cap", async () => {
    const { clock, calls, handler } = recorder();
    const embed = batch(handler, { ...byLength, maxBatchCost: 64, clock });
    const lengths = Array.from({ length: 60 }, (_, index) => 1 + ((index * 37) % 50));
    const answers = Promise.all(lengths.map((length) => embed(length)));
    await clock.runAll();
    await answers;
    for (const call of calls) expect(call.length === 1 || call.length * Math.max(...call) <= 64).toBe(true);
    expect(embed.options.batchCost).toBe("padded");
  });

  test("delays no item: a long item among short ones that keep coming goes in the next batch", async () => {
    const { clock, calls, handler } = recorder();
    const embed = batch(handler, { ...byLength, clock, maxBatchSize: 4 });
    const answers: Promise<number>[] = [];
    const submit = (length: number): number => answers.push(embed(length));
    for (let index = 0; index < 8; index += 1) submit(3);
    submit(500);
    for (let round = 0; round < 6; round += 1) {
      await clock.advance(10);
      for (let index = 0; index < 4; index += 1) submit(3);
    }
    await clock.runAll();
    await Promise.all(answers);
    expect(calls.findIndex((call) => call.includes(500))).toBe(2);
  });

  test("keeps keys apart and takes the more urgent first", async () => {
    const { clock, calls, handler } = recorder();
    const batcher = createBatcher(handler, { ...byLength, key: (length) => (length > 1_000 ? "b" : "a"), clock });
    const answers = [10, 2_000, 11, 2_001].map((length) => batcher.submit(length));
    answers.push(batcher.submit(300, { priority: 5 }));
    await clock.runAll();
    await Promise.all(answers);
    expect(calls[0]).toContain(300);
    for (const call of calls) expect(new Set(call.map((length) => length > 1_000)).size).toBe(1);
  });

  test("charges a tenant for an item taken out of order: both get equal service", async () => {
    const clock = virtualClock();
    const served = { flood: 0, few: 0 };
    const handler = async (texts: Text[]): Promise<Text[]> => {
      for (const { name, length } of texts) served[name as keyof typeof served] += length;
      await new Promise<void>((resolve) => clock.setTimeout(resolve, 10));
      return texts;
    };
    const options = { order: "length", maxBatchSize: 4, cost: ({ length }: Text) => length } as const;
    const batcher = createBatcher(handler, { ...options, fairBy: ({ name }: Text) => name ?? "", clock });
    // The flooding tenant has items of one length, which always fit well together.
    const flood = Array.from({ length: 400 }, () => batcher.submit({ length: 10, name: "flood" }));
    const few = Array.from({ length: 100 }, (_, index) => batcher.submit({ length: 10 + (index % 7), name: "few" }));
    for (let tenth = 0; tenth < 5; tenth += 1) {
      await clock.advance(100);
      // The difference is at most one batch.
      expect(Math.abs(served.flood - served.few)).toBeLessThanOrEqual(4 * 16);
    }
    await clock.runAll();
    await Promise.all([...flood, ...few]);
  });

  test("sends only the items that a flush covers while paused", async () => {
    const { clock, calls, handler } = recorder();
    const batcher = createBatcher(handler, { ...byLength, clock });
    batcher.pause();
    const covered = [7, 90].map((length) => batcher.submit(length));
    const flushed = batcher.flush();
    const later = batcher.submit(7);
    await clock.runAll();
    await flushed;
    await Promise.all(covered);
    expect(calls.flat().sort()).toEqual([7, 90]);
    batcher.resume();
    await clock.runAll();
    expect(await later).toBe(-7);
  });

  test("divides the waiting items among the free slots", async () => {
    const { clock, calls, handler } = recorder();
    const embed = batch(handler, { ...byLength, concurrency: 2, clock });
    const answers = Promise.all(Array.from({ length: 8 }, () => embed(10)));
    await clock.settle();
    expect(calls.map((call) => call.length)).toEqual([5, 3]);
    await clock.runAll();
    await answers;
  });

  test.each(["sum", (items: readonly number[]) => items.length] as const)("refuses batchCost %s", (batchCost) => {
    expect(() => batch((items: number[]) => items, { order: "length", batchCost })).toThrow(
      'Expected `batchCost` to be "padded" when `order` is "length"',
    );
  });
});

describe('maxBatchCost: "learn"', () => {
  test("refuses no item as too large, and frees the rows", async () => {
    const { clock, handler } = recorder();
    const embed = batch(handler, { cost: (length) => length, maxBatchCost: "learn", clock });
    const answers = Promise.all(Array.from({ length: 100 }, (_, index) => embed(10 ** (index % 9))));
    await clock.runAll();
    expect((await answers).length).toBe(100);
    expect(embed.options).toMatchObject({ maxBatchCost: "learn", maxBatchSize: 1024 });
  });

  test("may be switched while the batcher runs", async () => {
    const { clock, calls, handler } = recorder();
    const embed = batch(handler, { cost: (length) => length, maxBatchCost: "learn", clock });
    embed.configure({ maxBatchCost: 20 });
    const answers = Promise.all(Array.from({ length: 4 }, () => embed(10)));
    await clock.runAll();
    await answers;
    expect(calls.map((call) => call.length)).toEqual([2, 2]);
    expect(embed.options.maxBatchCost).toBe(20);
    embed.configure({ maxBatchCost: "learn" });
    expect(embed.options.maxBatchCost).toBe("learn");
    const { maxWaitMs, maxBatchCost } = embed.options;
    embed.configure({ maxWaitMs, maxBatchCost });
    expect(embed.options.maxBatchCost).toBe("learn");
    expect(Object.isFrozen(embed.options)).toBe(true);
  });

  test("lists the allowed values for any other value", () => {
    expect(() => batch((items: number[]) => items, { maxBatchCost: "auto" as "learn" })).toThrow(
      'Expected `maxBatchCost` to be a number > 0 or "learn", got `auto` (string)',
    );
  });
});
