// `maxBatchCost: "learn"` with `order: "length"`, compared with every fixed budget, for measured
// and made-up handler times. Clients in a closed loop on the virtual clock; throughput is in cost
// per second.

import { type BatchOptions, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { some } from "../dispatch/support/breadth.ts";
import { type Load, MIXES, type Mix, serveOften, type Times } from "./support/closed-loop.ts";
import { miniLmMs } from "./support/encoder-times.ts";

const MODELS: Readonly<Record<string, Times>> = {
  "an encoder of MiniLM's shape": miniLmMs,
  "a handler that costs by call alone": (rows, tokens) => 20 + 1e-6 * rows * tokens,
  "a handler that costs by token alone": (rows, tokens) => 0.05 * rows * tokens,
  "a tiny encoder": (rows, tokens) => 0.052 + 0.00444 * rows * tokens + 8.1e-6 * rows * tokens ** 2,
};

async function medianOf(load: Load, options: BatchOptions<number, number>): Promise<number> {
  return (await serveOften(load, options)).costPerSecond;
}

const bests = new Map<Times, Map<Mix, Promise<number>>>();

/**
 * The best fixed budget for a constant mix. Cached, because the same load gives the same figure.
 */
function bestFixed(times: Times, mix: Mix): Promise<number> {
  const ofTimes = bests.get(times) ?? new Map<Mix, Promise<number>>();
  const best = ofTimes.get(mix) ?? tryBudgets(times, mix);
  bests.set(times, ofTimes.set(mix, best));
  return best;
}

/** Tries each fixed budget, and no batching. */
async function tryBudgets(times: Times, mix: Mix): Promise<number> {
  const load = { timesAfter: () => times, mixAfter: () => mix, skipped: 50, measured: 400 };
  let best = await medianOf(load, { maxBatchSize: 1 });
  for (const maxBatchCost of [64, 128, 256, 512, 1024, 4096]) {
    best = Math.max(best, await medianOf(load, { maxBatchCost, oversize: "alone", maxBatchSize: 1024 }));
  }
  return best;
}

/** Learning's share of the best fixed budget's throughput, which knows the load in advance. */
async function shareOfBest(load: Load): Promise<number> {
  const end = load.skipped + load.measured;
  return (
    (await medianOf(load, { maxBatchCost: "learn" })) / (await bestFixed(load.timesAfter(end), load.mixAfter(end)))
  );
}

const of = <Value>(values: Readonly<Record<string, Value>>, name: string): Value => values[name] as Value;

describe.each(some(3, Object.keys(MODELS)))("with %s", (model) => {
  const timesAfter = (): Times => of(MODELS, model);

  test.each(Object.keys(MIXES))("it finds a budget as good as the best in 200 batches of %s items", async (mix) => {
    const load = { timesAfter, mixAfter: () => of(MIXES, mix), skipped: 200, measured: 600 };
    expect(await shareOfBest(load)).toBeGreaterThan(0.97);
  });

  test.each(
    some(2, [
      ["short", "long"],
      ["long", "short"],
      ["mixed", "short"],
      ["long", "mixed"],
    ] as const),
  )("it is so again 100 batches after the items have changed from %s to %s", async (before, after) => {
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

test("it has only to be enabled: items of one cost each, and as many rows as pay", async () => {
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

test("`stats()` shows the learned budget: none at first, then one, and when it is learned again", async () => {
  const clock = virtualClock();
  let perItemMs = 1;
  const handler = async (items: number[]): Promise<number[]> => {
    await new Promise<void>((resolve) => clock.setTimeout(resolve, 20 + perItemMs * items.length));
    return items;
  };
  const batcher = createBatcher(handler, { maxBatchCost: "learn", clock });
  expect(batcher.stats().learned).toEqual({ maxBatchCost: 0, state: "learning" });
  const serve = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      const answers = batcher.submitMany(new Array<number>(40).fill(1));
      await clock.advance(100_000);
      await answers;
    }
  };
  await serve(20);
  const { learned } = batcher.stats();
  expect(learned).toMatchObject({ state: "learned" });
  expect(learned?.maxBatchCost).toBeGreaterThan(20);
  perItemMs = 50;
  const states = new Set<string | undefined>();
  batcher.on("batch", () => states.add(batcher.stats().learned?.state));
  await serve(10);
  expect(states).toContain("relearning");
  expect(batcher.stats().learned).toMatchObject({ state: "learned" });
  batcher.resetStats();
  expect(batcher.stats().learned).toMatchObject({ state: "learned" });
  batcher.configure({ maxBatchCost: 8 });
  expect(batcher.stats().learned).toBeNull();
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

test("a cold start does not cut short the wait for a fuller batch", async () => {
  const clock = virtualClock();
  const batcher = createBatcher((items: number[]) => items, { maxBatchCost: "learn", maxWaitMs: 100, clock });
  const answers = batcher.submitMany([1, 2, 3]);
  await clock.advance(99);
  expect(batcher.stats()).toMatchObject({ waiting: 3, batches: 0 });
  await clock.advance(1);
  expect(await answers).toEqual([1, 2, 3]);
});

test("a clock of whole milliseconds, in which most single items take as long, does not hide that batches pay", async () => {
  const times: Times = (rows, longest) => Math.floor(1.5 + 0.005 * rows * longest);
  const load = { timesAfter: () => times, mixAfter: (): Mix => (random) => 20 + Math.floor(130 * random()) };
  const served = await serveOften({ ...load, skipped: 200, measured: 600 }, { maxBatchCost: "learn", concurrency: 1 });
  const best = await serveOften({ ...load, skipped: 50, measured: 400 }, { maxBatchCost: 4_096, concurrency: 1 });
  expect(served.costPerSecond / best.costPerSecond).toBeGreaterThan(0.9);
});
