import { createBatcher } from "batchwise";
import { expect, test } from "vitest";
import { range } from "../support.ts";

const ITEMS = 10_000;

/** Milliseconds for all items, the fastest of three rounds. */
async function fastest(priorityOf: (item: number) => number): Promise<number> {
  const times: number[] = [];
  for (const _round of range(3)) {
    const batcher = createBatcher(async (items: number[]) => items, { maxQueueSize: ITEMS });
    const startedAt = performance.now();
    const answers = range(ITEMS).map((item) => batcher.submit(item, { priority: priorityOf(item) }));
    await Promise.all(answers);
    times.push(performance.now() - startedAt);
    expect(batcher.stats()).toMatchObject({ completed: ITEMS, waiting: 0 });
  }
  return Math.min(...times);
}

// Quadratic work made this several hundred times as slow; the limit is far from both.
test.each<[order: string, priorityOf: (item: number) => number]>([
  ["rising", (item) => item],
  ["falling", (item) => -item],
  ["mixed", (item) => (item * 7_919) % ITEMS],
])("10,000 different priorities, %s, are not quadratic", async (_order, priorityOf) => {
  const one = await fastest(() => 1);
  expect(await fastest(priorityOf)).toBeLessThan(40 * one);
});

test("items of 10,000 different priorities go in their order", async () => {
  const seen: number[] = [];
  const batcher = createBatcher(
    (items: number[]) => {
      seen.push(...items);
      return items;
    },
    { maxBatchSize: 100 },
  );
  const answers = range(ITEMS).map((item) => batcher.submit(item, { priority: (item * 7_919) % ITEMS }));
  await Promise.all(answers);
  const priorities = seen.map((item) => (item * 7_919) % ITEMS);
  expect(priorities).toEqual(range(ITEMS).toReversed());
});
