/**
 * W6: one slot, 4 ms and 0.1 ms an item, at most 64 items; callers arrive by chance at a steady rate.
 *
 * What an item costs in CPU does not show here. What shows is when a batch is closed: as a slot takes it, or before.
 */
import type { Measurement } from "../harness/child.ts";
import { poissonArrivals } from "../harness/numbers.ts";
import type { Workload } from "../harness/workloads.ts";
import type { LoaderFactory } from "../peers/contract.ts";
import { runOpenLoop } from "./open-loop.ts";
import { createPulse } from "./pulse.ts";
import { exactService } from "./service.ts";

type Config = { perSecond: number; durationMs: number; graceMs: number; maxBatchSize: number; seed: number };

/** Compiles the contender's code before the clock starts: some thousand items in turns of 50. */
export async function warmUp(make: LoaderFactory, maxBatchSize: number): Promise<void> {
  const loader = make(async (items) => items, { maxBatchSize, slots: 1, windowMs: 0, queue: 10_000 });
  for (let turn = 0; turn < 100; turn += 1) {
    await Promise.all(Array.from({ length: 50 }, (_, at) => loader.load(turn * 50 + at)));
  }
}

async function measure(make: LoaderFactory, config: Config): Promise<Measurement> {
  const { perSecond, durationMs, graceMs, maxBatchSize, seed } = config;
  await warmUp(make, maxBatchSize);
  const pulse = createPulse();
  const service = exactService(pulse, { fixedMs: 4, perItemMs: 0.1 });
  const loader = make(service.handler, { maxBatchSize, slots: 1, windowMs: 0, queue: 10_000 });
  const arrivals = poissonArrivals(perSecond, durationMs, seed);
  return runOpenLoop({ loader, service, pulse, arrivals, durationMs, graceMs });
}

export const policy: Workload<Config> = {
  defaults: { perSecond: 1_000, durationMs: 3_000, graceMs: 500, maxBatchSize: 64, seed: 1 },
  measure,
};
