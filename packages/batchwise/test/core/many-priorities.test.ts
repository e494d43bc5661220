import { createBatcher } from "batchwise";
import { expect, test } from "vitest";
import { range } from "../support.ts";

const ITEMS = 10_000;
const FEWER = 2_500;
const TIMES_AS_MANY = 8;

/** What this process has computed so far, in milliseconds: other processes on the machine do not count. */
function busyMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Milliseconds that so many items take, the fastest of five rounds. */
async function fastest(items: number, priorityOf: (item: number) => number): Promise<number> {
  const times: number[] = [];
  for (const _round of range(5)) {
    const batcher = createBatcher(async (batch: number[]) => batch, { maxQueueSize: items });
    const startedAt = busyMs();
    const answers = range(items).map((item) => batcher.submit(item, { priority: priorityOf(item) }));
    await Promise.all(answers);
    times.push(busyMs() - startedAt);
    expect(batcher.stats()).toMatchObject({ completed: items, waiting: 0 });
  }
  return Math.min(...times);
}

// Eight times as many take ten times as long, or 64 times if work is quadratic; the limit is far from both.
test.each<[order: string, priorityOf: (item: number) => number]>([
  ["rising", (item) => item],
  ["falling", (item) => -item],
  ["mixed", (item) => (item * 7_919) % (FEWER * TIMES_AS_MANY)],
])("thousands of different priorities, %s, are not quadratic", async (_order, priorityOf) => {
  const few = await fastest(FEWER, priorityOf);
  expect(await fastest(FEWER * TIMES_AS_MANY, priorityOf)).toBeLessThan(30 * few);
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
