// No work may grow with the square of the waiting items.

import { type BatchOptions, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { expect, test } from "vitest";
import { range } from "../support.ts";
import { Kit } from "./support/queue-kit.ts";

const ITEMS = 10_000;
const FEWER = 2_500;
const TIMES_AS_MANY = 8;

/** CPU time of this process so far, in ms, without other processes of the machine. */
function busyMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Duration in ms, the fastest of five rounds. */
async function fastestOf(round: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (const _round of range(5)) {
    const startedAt = busyMs();
    await round();
    times.push(busyMs() - startedAt);
  }
  return Math.min(...times);
}

/** Duration for this many items, in ms. */
function fastest(
  items: number,
  priorityOf: (item: number) => number,
  options: BatchOptions<number, number> = {},
): Promise<number> {
  return fastestOf(async () => {
    const batcher = createBatcher(async (batch: number[]) => batch, { maxQueueSize: items, ...options });
    await Promise.all(range(items).map((item) => batcher.submit(item, { priority: priorityOf(item) })));
    expect(batcher.stats()).toMatchObject({ completed: items, waiting: 0 });
  });
}

/**
 * Duration for this many items, each with its own priority, that have waited up to six times the
 * aging, in ms.
 */
function fastestOfRisen(items: number, options: BatchOptions<number, number>): Promise<number> {
  return fastestOf(async () => {
    const clock = virtualClock();
    const risen = { clock, priorityAgingMs: 1_000, maxQueueSize: items, ...options };
    const batcher = createBatcher(async (batch: number[]) => batch, risen);
    batcher.pause();
    const submit = (item: number) => batcher.submit(item, { priority: (item * 7_919) % items });
    const older = range(items / 2).map(submit);
    await clock.advance(4_000);
    const younger = range(items / 2).map((item) => submit(item + items / 2));
    await clock.advance(2_000);
    batcher.resume();
    await Promise.all([...older, ...younger]);
    expect(batcher.stats()).toMatchObject({ completed: items, waiting: 0 });
  });
}

/**
 * Duration until this many items, each with its own priority, are dropped for as many others, in
 * ms.
 */
function fastestDrop(items: number): Promise<number> {
  return fastestOf(async () => {
    const batcher = createBatcher(async (batch: number[]) => batch, { maxQueueSize: items, onFull: "drop-oldest" });
    batcher.pause();
    const answers = range(2 * items).map((item) => batcher.submit(item, { priority: -item }));
    const dropped = Promise.allSettled(answers.slice(0, items));
    const left = Promise.allSettled(answers.slice(items));
    await dropped;
    expect(batcher.stats()).toMatchObject({ rejected: items, waiting: items });
    await batcher.close({ drain: false });
    await left;
  });
}

// Eight times as many take ten times as long, or 64 times if the work is quadratic. The limit is
// far from both.
test.each<[order: string, priorityOf: (item: number) => number]>([
  ["rising", (item) => item],
  ["falling", (item) => -item],
  ["mixed", (item) => (item * 7_919) % (FEWER * TIMES_AS_MANY)],
])("thousands of different priorities, %s, are not quadratic", async (_order, priorityOf) => {
  const few = await fastest(FEWER, priorityOf);
  expect(await fastest(FEWER * TIMES_AS_MANY, priorityOf)).toBeLessThan(30 * few);
});

test("thousands of different priorities of two keys, in batches of one, are not quadratic", async () => {
  const options = { key: (item: number) => String(item % 2), maxBatchSize: 1 };
  const few = await fastest(FEWER / 2, (item) => item, options);
  expect(await fastest((FEWER / 2) * TIMES_AS_MANY, (item) => item, options)).toBeLessThan(30 * few);
});

// Waiting has raised all priorities by two to six, so batches of all lines are merged.
test.each<[which: string, options: BatchOptions<number, number>]>([
  ["one key", {}],
  ["a key for each", { key: String }],
])("thousands of different priorities that have risen, of %s, are not quadratic", async (_which, options) => {
  const few = await fastestOfRisen(FEWER / 2, options);
  expect(await fastestOfRisen((FEWER / 2) * TIMES_AS_MANY, options)).toBeLessThan(30 * few);
});

test("submits of thousands of keys with deadlines, while paused, are not quadratic", async () => {
  const fastestPaused = (items: number): Promise<number> =>
    fastestOf(async () => {
      const clock = virtualClock();
      const options = { clock, key: String, maxWaitMs: 50, maxQueueSize: items };
      const batcher = createBatcher((batch: number[]) => batch, options);
      batcher.pause();
      const answers: Promise<number>[] = [];
      for (const item of range(items)) {
        answers.push(batcher.submit(item, { timeoutMs: 60_000 }));
        await Promise.resolve();
        if (item % 4 === 0) await new Promise(setImmediate);
      }
      const settled = Promise.allSettled(answers);
      await batcher.close({ drain: false });
      await settled;
    });
  const few = await fastestPaused(FEWER / 2);
  expect(await fastestPaused((FEWER / 2) * TIMES_AS_MANY)).toBeLessThan(30 * few);
});

test("thousands of open flushes are not quadratic", async () => {
  const fastestFlushes = (count: number): Promise<number> =>
    fastestOf(async () => {
      const done: number[] = [];
      const kit = new Kit();
      for (const id of range(count)) kit.push({ id, at: id }).flush(undefined, [], () => done.push(id));
      for (const id of range(count)) kit.leave(id);
      expect([done.length, kit.queue.isFlushed]).toEqual([count, false]);
    });
  const few = await fastestFlushes(10_000);
  expect(await fastestFlushes(10_000 * TIMES_AS_MANY)).toBeLessThan(30 * few);
});

test("dropping the oldest of thousands of different priorities is not quadratic", async () => {
  const few = await fastestDrop(ITEMS / TIMES_AS_MANY);
  // As above, but a drop has other costs: quadratic work takes 38 times as long.
  expect(await fastestDrop(ITEMS)).toBeLessThan(20 * few);
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
