// No work may grow with the square of the waiting items.

import { type BatchOptions, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { expect, test } from "vitest";
import { range } from "../support.ts";
import { Kit } from "./support/queue-kit.ts";

const ITEMS = 10_000;
const FEWER = 2_500;
const TIMES_AS_MANY = 8;

/** Rounds of one size in a row, of which the fastest counts. */
const ROUNDS = 3;
const MOST_ATTEMPTS = 5;

/** CPU time of this process's own code so far, in ms, without other processes of the machine. */
const busyMs = (): number => process.cpuUsage().user / 1_000;

/** Duration in ms, the fastest of some rounds. */
async function fastestOf(rounds: number, round: () => Promise<void>): Promise<number> {
  const times: number[] = [];
  for (const _round of range(rounds)) {
    const startedAt = busyMs();
    await round();
    times.push(busyMs() - startedAt);
  }
  return Math.min(...times);
}

/** One run with this many items. */
type Round = (items: number) => Promise<void>;

/**
 * Eight times as many items take ten times as long, or 64 times if the work is quadratic: `limit`
 * is far from both. Many items are measured once, and again only where a busy machine made that
 * slow. The fastest runs are compared, so a second attempt helps no quadratic work.
 */
async function expectNotQuadratic(few: number, round: Round, limit = 30): Promise<void> {
  let [fastestFew, fastestMany] = [Infinity, Infinity];
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    fastestFew = Math.min(fastestFew, await fastestOf(ROUNDS, () => round(few)));
    const rounds = attempt === 0 ? 1 : ROUNDS;
    fastestMany = Math.min(fastestMany, await fastestOf(rounds, () => round(few * TIMES_AS_MANY)));
    if (fastestMany < limit * fastestFew) break;
  }
  expect(fastestMany).toBeLessThan(limit * fastestFew);
}

/** Submits items with these priorities. */
function submitted(priorityOf: (item: number) => number, options: BatchOptions<number, number> = {}): Round {
  return async (items) => {
    const batcher = createBatcher(async (batch: number[]) => batch, { maxQueueSize: items, ...options });
    await Promise.all(range(items).map((item) => batcher.submit(item, { priority: priorityOf(item) })));
    expect(batcher.stats()).toMatchObject({ completed: items, waiting: 0 });
  };
}

/** Submits items, each with its own priority, that have waited up to six times the aging. */
function risen(options: BatchOptions<number, number>): Round {
  return async (items) => {
    const clock = virtualClock();
    const aged = { clock, priorityAgingMs: 1_000, maxQueueSize: items, ...options };
    const batcher = createBatcher(async (batch: number[]) => batch, aged);
    batcher.pause();
    const submit = (item: number) => batcher.submit(item, { priority: (item * 7_919) % items });
    const older = range(items / 2).map(submit);
    await clock.advance(4_000);
    const younger = range(items / 2).map((item) => submit(item + items / 2));
    await clock.advance(2_000);
    batcher.resume();
    await Promise.all([...older, ...younger]);
    expect(batcher.stats()).toMatchObject({ completed: items, waiting: 0 });
  };
}

/** Drops items, each with its own priority, for as many others. */
async function dropped(items: number): Promise<void> {
  const batcher = createBatcher(async (batch: number[]) => batch, { maxQueueSize: items, onFull: "drop-oldest" });
  batcher.pause();
  const answers = range(2 * items).map((item) => batcher.submit(item, { priority: -item }));
  const first = Promise.allSettled(answers.slice(0, items));
  const left = Promise.allSettled(answers.slice(items));
  await first;
  expect(batcher.stats()).toMatchObject({ rejected: items, waiting: items });
  await batcher.close({ drain: false });
  await left;
}

test.each<[order: string, priorityOf: (item: number) => number]>([
  ["rising", (item) => item],
  ["falling", (item) => -item],
  ["mixed", (item) => (item * 7_919) % (FEWER * TIMES_AS_MANY)],
])("thousands of different priorities, %s, are not quadratic", async (_order, priorityOf) => {
  await expectNotQuadratic(FEWER, submitted(priorityOf));
});

test("thousands of different priorities of two keys, in batches of one, are not quadratic", async () => {
  const options = { key: (item: number) => String(item % 2), maxBatchSize: 1 };
  await expectNotQuadratic(
    FEWER / 2,
    submitted((item) => item, options),
  );
});

// Waiting has raised all priorities by two to six, so batches of all lines are merged.
test.each<[which: string, options: BatchOptions<number, number>]>([
  ["one key", {}],
  ["a key for each", { key: String }],
])("thousands of different priorities that have risen, of %s, are not quadratic", async (_which, options) => {
  await expectNotQuadratic(FEWER / 2, risen(options));
});

test("submits of thousands of keys with deadlines, while paused, are not quadratic", async () => {
  await expectNotQuadratic(FEWER / 2, async (items) => {
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
});

test("thousands of open flushes are not quadratic", async () => {
  await expectNotQuadratic(10_000, async (count) => {
    const done: number[] = [];
    const kit = new Kit();
    for (const id of range(count)) kit.push({ id, at: id }).flush(undefined, [], () => done.push(id));
    for (const id of range(count)) kit.leave(id);
    expect([done.length, kit.queue.isFlushed]).toEqual([count, false]);
  });
});

test("dropping the oldest of thousands of different priorities is not quadratic", async () => {
  // A drop has other costs: quadratic work takes 38 times as long.
  await expectNotQuadratic(ITEMS / TIMES_AS_MANY, dropped, 26);
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
