/**
 * Bursts of one batch: the cost of a batch with few items. A burst submits its items in one turn
 * and awaits the answers; the next burst follows at once.
 *
 * A new turn of the event loop starts only between runs. One in each burst would cost as much as a
 * batch and hide a difference.
 */
import type { Measurement } from "../harness/child.ts";
import { median } from "../harness/numbers.ts";
import type { Workload } from "../harness/workloads.ts";
import type { LoaderFactory } from "../peers/contract.ts";
import { createResultCounter, identityHandler, nextTurn, sumBelow, warmUpAndRepeat } from "./result-counter.ts";

type Config = { items: number; maxBatchSize: number; batches: number; warmups: number; runs: number };

async function measure(make: LoaderFactory, config: Config): Promise<Measurement> {
  const { items, maxBatchSize, batches } = config;
  const counter = createResultCounter();
  const { handler, takeBatches } = identityHandler();
  const loader = make(handler, { maxBatchSize, slots: Number.POSITIVE_INFINITY, windowMs: 0, queue: 10_000 });
  const times = await warmUpAndRepeat(config.warmups, config.runs, async () => {
    await nextTurn();
    takeBatches();
    void counter.expect(items * batches);
    const started = performance.now();
    for (let value = 0; value < items * batches; ) {
      // Answers come in order, so the last one of a burst stands for all.
      for (let at = 1; at < items; at += 1) loader.load(value++).then(counter.settle);
      counter.settle(await loader.load(value++));
    }
    const elapsed = performance.now() - started;
    counter.check(sumBelow(items * batches));
    const made = takeBatches();
    if (made !== batches) throw new Error(`Expected ${batches} batches, one of each burst, got ${made}`);
    return (elapsed * 1e6) / batches;
  });
  return { nsPerBatch: median(times) };
}

export const oneBatch: Workload<Config> = {
  defaults: { items: 1, maxBatchSize: 32, batches: 10_000, warmups: 20, runs: 100 },
  measure,
};
