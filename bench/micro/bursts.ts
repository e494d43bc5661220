/**
 * W1: bursts of submits in one turn, with an async identity handler. The cost of an item in time
 * and in bytes.
 *
 * Between bursts lies a real turn of the event loop, so no burst runs into the next.
 */
import { GCProfiler } from "node:v8";
import type { Measurement } from "../harness/child.ts";
import { median } from "../harness/numbers.ts";
import type { Workload } from "../harness/workloads.ts";
import type { Loader, LoaderFactory, Shape } from "../peers/contract.ts";
import {
  createResultCounter,
  identityHandler,
  nextTurn,
  type ResultCounter,
  sumBelow,
  warmUpAndRepeat,
} from "./result-counter.ts";

type Config = { bursts: number; burst: number; maxBatchSize: number; warmups: number; runs: number };

const defaults: Config = { bursts: 100, burst: 1_000, maxBatchSize: 100, warmups: 30, runs: 30 };

function shapeOf(config: Config): Shape {
  return { maxBatchSize: config.maxBatchSize, slots: Number.POSITIVE_INFINITY, windowMs: 0, queue: 10_000 };
}

async function oneByOne(loader: Loader, counter: ResultCounter, { bursts, burst }: Config): Promise<void> {
  for (let round = 0; round < bursts; round += 1) {
    const finished = counter.expect(burst);
    const first = round * burst;
    for (let at = 0; at < burst; at += 1) loader.load(first + at).then(counter.settle);
    loader.endBurst?.();
    await finished;
    await nextTurn();
  }
}

async function inOneCall(
  loadMany: (values: readonly number[]) => Promise<readonly number[]>,
  counter: ResultCounter,
  { bursts, burst }: Config,
): Promise<void> {
  for (let round = 0; round < bursts; round += 1) {
    const finished = counter.expect(burst);
    const values: number[] = [];
    for (let at = 0; at < burst; at += 1) values.push(round * burst + at);
    const results = await loadMany(values);
    for (const result of results) counter.settle(result);
    await finished;
    await nextTurn();
  }
}

interface Rig {
  run(): Promise<void>;
  batchesPerRun(): number;
}

function createRig(make: LoaderFactory, config: Config): Rig {
  const counter = createResultCounter();
  const { handler, takeBatches } = identityHandler();
  const loader = make(handler, shapeOf(config));
  const { loadMany } = loader;
  return {
    async run() {
      takeBatches();
      await (loadMany === undefined ? oneByOne(loader, counter, config) : inOneCall(loadMany, counter, config));
      loader.readStatistics?.();
      counter.check(sumBelow(config.bursts * config.burst));
    },
    batchesPerRun: takeBatches,
  };
}

async function measureTime(make: LoaderFactory, config: Config): Promise<Measurement> {
  const rig = createRig(make, config);
  const items = config.bursts * config.burst;
  const times = await warmUpAndRepeat(config.warmups, config.runs, async () => {
    const started = performance.now();
    await rig.run();
    return ((performance.now() - started) * 1e6) / items;
  });
  return { nsPerItem: median(times), batches: rig.batchesPerRun() };
}

/**
 * Needs the flags of `allocationFlags`: with so large a young generation no collection happens
 * during a run.
 */
async function measureBytes(make: LoaderFactory, config: Config): Promise<Measurement> {
  const collect = globalThis.gc;
  if (collect === undefined) throw new Error(`Run this load with node ${allocationFlags.join(" ")}`);
  const rig = createRig(make, config);
  const items = config.bursts * config.burst;
  const bytes = await warmUpAndRepeat(config.warmups, config.runs, async () => {
    collect();
    const profiler = new GCProfiler();
    profiler.start();
    const before = process.memoryUsage().heapUsed;
    await rig.run();
    const grown = process.memoryUsage().heapUsed - before;
    const collections = profiler.stop()?.statistics.length ?? 0;
    return collections === 0 ? grown / items : Number.NaN;
  });
  const clean = bytes.filter((value) => !Number.isNaN(value));
  return { bytesPerItem: median(clean), cleanRuns: clean.length };
}

export const allocationFlags: readonly string[] = [
  "--expose-gc",
  "--min-semi-space-size=256",
  "--max-semi-space-size=256",
];

export const bursts: Workload<Config> = { defaults, measure: measureTime };
export const allocation: Workload<Config> = { defaults: { ...defaults, warmups: 3, runs: 5 }, measure: measureBytes };
