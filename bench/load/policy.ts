/**
 * W6: one slot, a service of 4 ms and 0.1 ms per item, at most 64 items; Poisson arrivals at a
 * steady rate.
 *
 * An item's CPU cost has no effect here. The time at which a batch is closed has: when a slot takes
 * it, or before.
 */
import type { Measurement } from "../harness/child.ts";
import { poissonArrivals } from "../harness/numbers.ts";
import type { Workload } from "../harness/workloads.ts";
import type { LoaderFactory } from "../peers/contract.ts";
import { runOpenLoop } from "./open-loop.ts";
import { createPulse } from "./pulse.ts";
import { exactService } from "./service.ts";

type Config = { perSecond: number; durationMs: number; graceMs: number; maxBatchSize: number; seed: number };

/** Warm-up: how much faster than the clock, and for how long. */
const WARM_UP_SPEED = 10;
const WARM_UP_MS = 1_000;

/**
 * Serves callers `speed` times as fast as the clock: `speed` times as many, with a backend that is
 * as much faster.
 */
async function serve(make: LoaderFactory, config: Config, speed: number): Promise<Measurement> {
  const { perSecond, durationMs, graceMs, maxBatchSize, seed } = config;
  const pulse = createPulse();
  const service = exactService(pulse, { fixedMs: 4 / speed, perItemMs: 0.1 / speed });
  const loader = make(service.handler, { maxBatchSize, slots: 1, windowMs: 0, queue: 10_000 });
  const arrivals = poissonArrivals(perSecond * speed, durationMs, seed);
  const measured = await runOpenLoop({ loader, service, pulse, arrivals, durationMs, graceMs });
  pulse.stop();
  return measured;
}

/**
 * First serves the same load ten times as fast for one second, because a real service has compiled
 * its code long ago.
 */
async function measure(make: LoaderFactory, config: Config): Promise<Measurement> {
  await serve(make, { ...config, durationMs: WARM_UP_MS, graceMs: 0, seed: config.seed + 1_000 }, WARM_UP_SPEED);
  return serve(make, config, 1);
}

export const policy: Workload<Config> = {
  defaults: { perSecond: 1_000, durationMs: 3_000, graceMs: 500, maxBatchSize: 64, seed: 1 },
  measure,
};
