/**
 * W3: all items are submitted in one turn, and one slot processes them. The cost per item of a deep
 * queue.
 *
 * The same load with fewer items and small batches gives the price of an option: 20 items for each
 * of 10,000 keys make as many batches of 20 with keys as without. 10,000 items show the cost of
 * distinct priorities.
 */
import type { Measurement } from "../harness/child.ts";
import { median } from "../harness/numbers.ts";
import type { Workload } from "../harness/workloads.ts";
import type { LoaderFactory } from "../peers/contract.ts";
import { createResultCounter, identityHandler, nextTurn, sumBelow, warmUpAndRepeat } from "./result-counter.ts";

type Config = { items: number; maxBatchSize: number; warmups: number; warmupItems: number; runs: number };

async function measure(make: LoaderFactory, config: Config): Promise<Measurement> {
  const { maxBatchSize } = config;
  const counter = createResultCounter();
  const { handler, takeBatches } = identityHandler();
  const loader = make(handler, { maxBatchSize, slots: 1, windowMs: 0, queue: Number.POSITIVE_INFINITY });
  const collect = globalThis.gc;

  async function run(items: number): Promise<number> {
    collect?.();
    await nextTurn();
    takeBatches();
    const finished = counter.expect(items);
    const started = performance.now();
    for (let at = 0; at < items; at += 1) loader.load(at).then(counter.settle);
    await finished;
    const elapsed = performance.now() - started;
    loader.readStatistics?.();
    counter.check(sumBelow(items));
    return (elapsed * 1e6) / items;
  }

  await warmUpAndRepeat(config.warmups, 0, () => run(config.warmupItems));
  const times = await warmUpAndRepeat(0, config.runs, () => run(config.items));
  const peakMb = process.resourceUsage().maxRSS / 1024;
  return { nsPerItem: median(times), batches: takeBatches(), peakMb };
}

export const deepQueue: Workload<Config> = {
  defaults: { items: 1_000_000, maxBatchSize: 256, warmups: 3, warmupItems: 50_000, runs: 2 },
  measure,
};

export const optionCost: Workload<Config> = {
  defaults: { items: 200_000, maxBatchSize: 20, warmups: 2, warmupItems: 200_000, runs: 5 },
  measure,
};

export const priorities: Workload<Config> = {
  defaults: { items: 10_000, maxBatchSize: 32, warmups: 2, warmupItems: 10_000, runs: 9 },
  measure,
};
