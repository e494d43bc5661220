/**
 * The weight of a batcher: its bytes, the time to make one, and the time of a whole life (make,
 * three submits, three answers, drop), as in a server that makes one per request.
 *
 * Includes bytes outside the heap, where typed arrays have their values. A wrong answer fails the
 * run.
 */
import type { Measurement } from "../harness/child.ts";
import { median } from "../harness/numbers.ts";
import type { NamedWorkload } from "../harness/workloads.ts";
import { findMaker, type Maker } from "../peers/makers.ts";
import { nextTurn, warmUpAndRepeat } from "./result-counter.ts";

type Config = { instances: number; groups: number; group: number; cycles: number; warmups: number; runs: number };

/** Needed to count bytes. */
export const collectFlags: readonly string[] = ["--expose-gc"];

/** Fills an array before the measurement, so that the array itself does not grow. */
const nothing: object = {};

async function answer(items: readonly number[]): Promise<number[]> {
  return [...items];
}

async function loadThree(maker: Maker, instance: object): Promise<void> {
  const results = await Promise.all([maker.load(instance, 1), maker.load(instance, 2), maker.load(instance, 3)]);
  if (results.join() !== "1,2,3") throw new Error(`Expected the results 1,2,3, got ${results.join()}`);
}

interface Memory {
  readonly heap: number;
  readonly outside: number;
}

async function memoryInUse(): Promise<Memory> {
  const collect = globalThis.gc;
  if (collect === undefined) throw new Error(`Run this load with node ${collectFlags.join(" ")}`);
  await nextTurn();
  collect();
  await nextTurn();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return { heap: heapUsed, outside: external };
}

/**
 * Bytes per instance of many live instances: new ones, and ones that have answered three submits.
 */
async function measureBytes(maker: Maker, { instances }: Config): Promise<Measurement> {
  await loadThree(maker, maker.make(answer));
  const kept: object[] = new Array(instances).fill(nothing);
  const before = await memoryInUse();
  for (let at = 0; at < instances; at += 1) kept[at] = maker.make(answer);
  const made = await memoryInUse();
  for (const instance of kept) await loadThree(maker, instance);
  const used = await memoryInUse();
  const total = ({ heap, outside }: Memory): number => heap + outside;
  return {
    bytes: (total(made) - total(before)) / kept.length,
    outsideBytes: (made.outside - before.outside) / kept.length,
    usedBytes: (total(used) - total(before)) / kept.length,
  };
}

/** Microseconds to make one: the median over groups, the first fifth of which is warm-up. */
function measureMaking(maker: Maker, { groups, group }: Config): number {
  const made: object[] = new Array(group).fill(nothing);
  const times: number[] = [];
  for (let round = 0; round < groups; round += 1) {
    const started = performance.now();
    for (let at = 0; at < group; at += 1) made[at] = maker.make(answer);
    times.push(((performance.now() - started) * 1_000) / group);
  }
  return median(times.slice(Math.floor(groups / 5)));
}

/** Microseconds of a whole life, one after the other. */
async function measureCycles(maker: Maker, { cycles, warmups, runs }: Config): Promise<number> {
  const times = await warmUpAndRepeat(warmups, runs, async () => {
    await nextTurn();
    const started = performance.now();
    for (let cycle = 0; cycle < cycles; cycle += 1) await loadThree(maker, maker.make(answer));
    return ((performance.now() - started) * 1_000) / cycles;
  });
  return median(times);
}

async function measure(contender: string, config: Config): Promise<Measurement> {
  const maker = await findMaker(contender);
  const makeUs = measureMaking(maker, config);
  const cycleUs = await measureCycles(maker, config);
  return { makeUs, cycleUs, ...(await measureBytes(maker, config)) };
}

export const small: NamedWorkload<Config> = {
  defaults: { instances: 10_000, groups: 500, group: 100, cycles: 1_000, warmups: 3, runs: 9 },
  measure,
};
