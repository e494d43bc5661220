// The most that any rule can reach with items that arrive one by one and independently, from the
// run times without troubles. Items that arrive together do not wait for one another, so more may
// be possible with them.

import type { SimulationBound } from "./report.ts";

/** Larger batches are not looked at. */
const LARGEST = 100_000;

interface BoundOf {
  /** Mean run time of a batch of `size` items, in ms. */
  readonly runMs: (size: number) => number;
  readonly slots: number;
  /** In ms; Infinity for none. */
  readonly targetMs: number;
  /** Cap on a batch where there is no target. */
  readonly maxBatchSize: number;
  readonly perSecond: number;
}

/**
 * With a target, an item waits at most for the batch that gathers before its own: of `n` items that
 * arrive while a batch gathers, the oldest has waited `n / rate`, and `n / rate + L(n)` must not be
 * over the target. Where the rate is more than can be served, the batch gathers in less time, and
 * larger ones make it.
 */
export function boundOf({ runMs, slots, targetMs, maxBatchSize, perSecond }: BoundOf): SimulationBound {
  const rateOf = (size: number): number => (size === 0 ? 0 : (1_000 * slots * size) / runMs(size));
  /** The best rate of the sizes that fit. */
  const best = (fits: (size: number) => boolean): number => {
    let found = 0;
    let misses = 0;
    // A run time by steps may fit again a little later.
    for (let size = 1; size <= LARGEST && misses < 64; size += 1) {
      if (fits(size)) [found, misses] = [Math.max(found, rateOf(size)), 0];
      else misses += 1;
    }
    return found;
  };
  if (targetMs === Infinity) {
    const most = Math.min(maxBatchSize, LARGEST);
    let size = 1;
    for (let next = 2; next <= most; next += 1) if (rateOf(next) > rateOf(size)) size = next;
    return shares(rateOf(size), rateOf(size), perSecond);
  }
  const capacity = best((size) => (1 + 1 / slots) * runMs(size) <= targetMs);
  const ratePerMs = perSecond / 1_000 / slots;
  const reached = best((size) => size <= ratePerMs * (targetMs - runMs(size)));
  return shares(capacity, Math.max(capacity, reached), perSecond);
}

function shares(capacityPerSecond: number, mostPerSecond: number, perSecond: number): SimulationBound {
  return { capacityPerSecond, mostPerSecond, goodput: perSecond > 0 ? Math.min(1, mostPerSecond / perSecond) : 1 };
}
