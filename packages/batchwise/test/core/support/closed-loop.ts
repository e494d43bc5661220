// Clients in a closed loop on the virtual clock, each with one item at a time, for a handler with
// invented or measured times. Lengths and times are drawn from a seed.

import { type BatchOptions, createBatcher } from "batchwise";
import { virtualClock } from "batchwise/testing";
import { runsAllCases } from "../../dispatch/support/breadth.ts";

const CLIENTS = 64;

/** Time of a batch in milliseconds. */
export type Times = (rows: number, longest: number) => number;
/** The length of the next item. */
export type Mix = (random: () => number) => number;

/** Tokens of 5 to 16 words, of a log-normal number of words, and of 120 to 240 words. */
export const MIXES: Readonly<Record<"short" | "mixed" | "long", Mix>> = {
  short: (random) => 7 + Math.floor(random() * 12),
  mixed: (random) => Math.min(300, Math.max(5, Math.round(30 * Math.exp(0.8 * normal(random))))),
  long: (random) => 140 + Math.floor(random() * 140),
};

export interface Load {
  /** The handler's times after this many batches. */
  readonly timesAfter: (batches: number) => Times;
  /** The mix of items after this many batches. */
  readonly mixAfter: (batches: number) => Mix;
  /** Numbers of unmeasured and of measured batches. */
  readonly skipped: number;
  readonly measured: number;
}

export interface Served {
  /** Cost of the items per second. With mixed items the mean of a few hundred varies. */
  readonly costPerSecond: number;
  /** 99th percentile of the items' times. */
  readonly p99Ms: number;
}

/** Runs two batches at a time, ordered by length; times vary by 10 %. */
async function serve(load: Load, options: BatchOptions<number, number>, seed: number): Promise<Served> {
  const clock = virtualClock();
  const [lengths, noise] = [seeded(seed), seeded(seed + 1)];
  const end = load.skipped + load.measured;
  const waitsMs: number[] = [];
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
    while (batches < end) {
      const submittedAt = clock.now();
      await batcher.submit(load.mixAfter(batches)(lengths));
      if (batches > load.skipped) waitsMs.push(clock.now() - submittedAt);
    }
  });
  while (batches < end) await clock.advance(50);
  const ended = Promise.all(clients);
  await clock.advance(60_000);
  await ended;
  waitsMs.sort((a, b) => a - b);
  const p99Ms = waitsMs[Math.floor(0.99 * waitsMs.length)] as number;
  return { costPerSecond: (cost / (endedAt - startedAt)) * 1_000, p99Ms };
}

/** `npm run prove` runs five. */
const SEEDS = runsAllCases ? [1, 2, 3, 4, 5] : [1, 2, 3];

/** The median of each figure over the seeds. */
export async function serveOften(load: Load, options: BatchOptions<number, number>): Promise<Served> {
  const runs: Served[] = [];
  for (const seed of SEEDS) runs.push(await serve(load, options, seed));
  const median = (figure: keyof Served): number =>
    runs.map((run) => run[figure]).sort((a, b) => a - b)[SEEDS.length >> 1] as number;
  return { costPerSecond: median("costPerSecond"), p99Ms: median("p99Ms") };
}

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
