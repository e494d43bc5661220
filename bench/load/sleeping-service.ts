/**
 * The load under which the four Python systems were measured: a handler that sleeps 5 ms and 0.1 ms
 * per item, at most 32 items, one slot. An open loop at a rate, or a closed loop of a number of
 * clients.
 *
 * `rounded: 1` makes the sleep as coarse as theirs (a whole number of milliseconds, rounded up).
 */
import type { Measurement } from "../harness/child.ts";
import { poissonArrivals, quantile } from "../harness/numbers.ts";
import type { Workload } from "../harness/workloads.ts";
import type { Loader, LoaderFactory } from "../peers/contract.ts";
import { runOpenLoop } from "./open-loop.ts";
import { createPulse, type Pulse } from "./pulse.ts";
import { exactService, roundedService, type Service } from "./service.ts";

type Config = { perSecond: number; clients: number; rounded: number; openMs: number; closedMs: number; seed: number };

const maxBatchSize = 32;
const serviceTime = { fixedMs: 5, perItemMs: 0.1 };

/** Compiles the contender's code before the clock starts: a few thousand items in turns of 50. */
async function warmUp(make: LoaderFactory, maxBatchSize: number): Promise<void> {
  const loader = make(async (items) => items, { maxBatchSize, slots: 1, windowMs: 0, queue: 10_000 });
  for (let turn = 0; turn < 100; turn += 1) {
    await Promise.all(Array.from({ length: 50 }, (_, at) => loader.load(turn * 50 + at)));
  }
}

async function runClosedLoop(loader: Loader, service: Service, config: Config): Promise<Measurement> {
  const { clients, closedMs } = config;
  const latencies: number[] = [];
  const start = performance.now();
  const end = start + closedMs;

  async function client(value: number): Promise<void> {
    for (let now = performance.now(); now < end; ) {
      const result = await loader.load(value);
      const answeredAt = performance.now();
      if (result !== value) throw new Error(`Expected the result ${value}, got ${result}`);
      if (answeredAt <= end) latencies.push(answeredAt - now);
      now = answeredAt;
    }
  }

  await Promise.all(Array.from({ length: clients }, (_, at) => client(at)));
  const { calls, items } = service.counts();
  return {
    donePerSecond: (latencies.length * 1000) / closedMs,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    meanBatch: items / calls,
  };
}

function createService(pulse: Pulse, rounded: boolean): Service {
  return rounded ? roundedService(serviceTime) : exactService(pulse, serviceTime);
}

async function measure(make: LoaderFactory, config: Config): Promise<Measurement> {
  await warmUp(make, maxBatchSize);
  const pulse = createPulse();
  const service = createService(pulse, config.rounded === 1);
  const loader = make(service.handler, { maxBatchSize, slots: 1, windowMs: 0, queue: 10_000 });
  if (config.clients > 0) return runClosedLoop(loader, service, config);
  const durationMs = config.openMs;
  const arrivals = poissonArrivals(config.perSecond, durationMs, config.seed);
  return runOpenLoop({ loader, service, pulse, arrivals, durationMs, graceMs: 3_000 });
}

export const sleepingService: Workload<Config> = {
  defaults: { perSecond: 500, clients: 0, rounded: 0, openMs: 3_000, closedMs: 2_000, seed: 1 },
  measure,
};
