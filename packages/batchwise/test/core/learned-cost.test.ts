// `maxBatchCost: "learn"` with `order: "length"`: what it finds, against every fixed budget, for handlers whose times
// were measured or are made up. Clients in a closed loop on the virtual clock; throughput is in cost a second.

import { type BatchOptions, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { miniLmMs } from "./support/encoder-times.ts";

const CLIENTS = 64;

type Times = (rows: number, longest: number) => number;
type Mix = (random: () => number) => number;

const MODELS: Readonly<Record<string, Times>> = {
  "an encoder of MiniLM's shape": miniLmMs,
  "a tiny encoder": (rows, tokens) => 0.052 + 0.00444 * rows * tokens + 8.1e-6 * rows * tokens ** 2,
  "a handler that costs by call alone": (rows, tokens) => 20 + 1e-6 * rows * tokens,
  "a handler that costs by token alone": (rows, tokens) => 0.05 * rows * tokens,
};

const MIXES: Readonly<Record<string, Mix>> = {
  short: (random) => 7 + Math.floor(random() * 14),
  mixed: (random) => Math.min(300, Math.max(5, Math.round(30 * Math.exp(0.8 * normal(random))))),
  long: (random) => 140 + Math.floor(random() * 140),
};

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Load {
  /** What the handler takes after so many batches. */
  readonly timesAfter: (batches: number) => Times;
  /** The mix of the item after so many batches. */
  readonly mixAfter: (batches: number) => Mix;
  /** Batches that are not measured, and those that are. */
  readonly skipped: number;
  readonly measured: number;
}

/** Cost of items a second in the measured batches: of mixed items a few hundred differ in their mean. */
async function throughput(load: Load, options: BatchOptions<number, number>, seed: number): Promise<number> {
  const clock = virtualClock();
  const [lengths, noise] = [seeded(seed), seeded(seed + 1)];
  const end = load.skipped + load.measured;
  let [batches, cost, startedAt, endedAt] = [0, 0, 0, 0];
  const batcher = createBatcher(
    async (batch: number[]) => {
      const ms = load.timesAfter(batches)(batch.length, Math.max(...batch)) * Math.exp(0.1 * normal(noise));
      await new Promise<void>((resolve) => clock.setTimeout(resolve, ms));
      batches += 1;
      if (batches > end) return batch;
      cost += batch.reduce((sum, length) => sum + length, 0);
      if (batches === load.skipped) [cost, startedAt] = [0, clock.now()];
      if (batches === end) endedAt = clock.now();
      return batch;
    },
    { cost: (length) => length, order: "length", concurrency: 2, clock, ...options },
  );
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (batches < end) await batcher.submit(load.mixAfter(batches)(lengths));
  });
  while (batches < end) await clock.advance(50);
  const ended = Promise.all(clients);
  await clock.advance(60_000);
  await ended;
  return (cost / (endedAt - startedAt)) * 1_000;
}

async function medianOf(load: Load, options: BatchOptions<number, number>): Promise<number> {
  const rates = [];
  for (const seed of [1, 2, 3, 4, 5]) rates.push(await throughput(load, options, seed));
  return rates.sort((a, b) => a - b)[2] as number;
}

/** The best of the fixed budgets, and of no batching, for a mix that stays. */
async function bestFixed(times: Times, mix: Mix): Promise<number> {
  const load = { timesAfter: () => times, mixAfter: () => mix, skipped: 50, measured: 400 };
  let best = await medianOf(load, { maxBatchSize: 1 });
  for (const maxBatchCost of [64, 128, 256, 512, 1024, 4096]) {
    best = Math.max(best, await medianOf(load, { maxBatchCost, oversize: "alone", maxBatchSize: 1024 }));
  }
  return best;
}

/** What learning reaches of the best fixed budget, which knows the load beforehand. */
async function shareOfBest(load: Load): Promise<number> {
  const end = load.skipped + load.measured;
  return (
    (await medianOf(load, { maxBatchCost: "learn" })) / (await bestFixed(load.timesAfter(end), load.mixAfter(end)))
  );
}

const of = <Value>(values: Readonly<Record<string, Value>>, name: string): Value => values[name] as Value;

describe.each(Object.keys(MODELS))("with %s", (model) => {
  const timesAfter = (): Times => of(MODELS, model);

  test.each(Object.keys(MIXES))("it finds a budget as good as the best in 200 batches of %s items", async (mix) => {
    const load = { timesAfter, mixAfter: () => of(MIXES, mix), skipped: 200, measured: 600 };
    expect(await shareOfBest(load)).toBeGreaterThan(0.97);
  });

  test.each([
    ["short", "long"],
    ["long", "short"],
    ["mixed", "short"],
    ["long", "mixed"],
  ])("it is so again 100 batches after the items have changed from %s to %s", async (before, after) => {
    const mixAfter = (batches: number): Mix => of(MIXES, batches < 400 ? before : after);
    expect(await shareOfBest({ timesAfter, mixAfter, skipped: 500, measured: 600 })).toBeGreaterThan(0.97);
  });
});

test.each([
  ["an encoder of MiniLM's shape", "a handler that costs by call alone"],
  ["a handler that costs by call alone", "an encoder of MiniLM's shape"],
  ["a tiny encoder", "a handler that costs by token alone"],
])("it learns anew where %s becomes %s", async (before, after) => {
  const timesAfter = (batches: number): Times => of(MODELS, batches < 400 ? before : after);
  const load = { timesAfter, mixAfter: () => of(MIXES, "mixed"), skipped: 600, measured: 600 };
  expect(await shareOfBest(load)).toBeGreaterThan(0.97);
});

test("it needs no more than to be asked for: items of one cost each, and rows as many as pay", async () => {
  const load = { timesAfter: () => of(MODELS, "a handler that costs by call alone"), mixAfter: () => () => 1 };
  const options: BatchOptions<number, number> = { maxBatchCost: "learn", order: "fifo", batchCost: "sum" };
  const best = await medianOf({ ...load, skipped: 200, measured: 600 }, { maxBatchSize: 1024, order: "fifo" });
  expect((await medianOf({ ...load, skipped: 200, measured: 600 }, options)) / best).toBeGreaterThan(0.97);
});

test("nothing is known at a cold start: one item goes a slot, however much waits", async () => {
  const sizes: number[] = [];
  const clock = virtualClock();
  const handler = async (items: number[]): Promise<number[]> => {
    sizes.push(items.length);
    await new Promise<void>((resolve) => clock.setTimeout(resolve, items.length));
    return items;
  };
  const options: BatchOptions<number, number> = { maxBatchCost: "learn", concurrency: 2, clock, cost: (item) => item };
  const batcher = createBatcher(handler, options);
  const answers = batcher.submitMany(new Array<number>(1_000).fill(5));
  await clock.advance(2_000);
  expect((await answers).length).toBe(1_000);
  expect(sizes.slice(0, 2)).toEqual([1, 1]);
  expect(Math.max(...sizes)).toBeGreaterThan(1);
});

test("where batches have no bound, a cold start does not make one of each item", async () => {
  const sizes: number[] = [];
  const handler = (items: number[]): number[] => {
    sizes.push(items.length);
    return items;
  };
  const batcher = createBatcher(handler, { maxBatchCost: "learn", concurrency: Infinity });
  await batcher.submitMany(new Array<number>(1_000).fill(5));
  expect(sizes[0]).toBe(1_000);
});

test("a cold start ends nobody's wait for company", async () => {
  const clock = virtualClock();
  const batcher = createBatcher((items: number[]) => items, { maxBatchCost: "learn", maxWaitMs: 100, clock });
  const answers = batcher.submitMany([1, 2, 3]);
  await clock.advance(99);
  expect(batcher.stats()).toMatchObject({ waiting: 3, batches: 0 });
  await clock.advance(1);
  expect(await answers).toEqual([1, 2, 3]);
});
