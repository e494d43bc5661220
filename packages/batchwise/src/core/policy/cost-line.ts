// What a call costs besides its items: the straight line through the times of the last batches by their cost. Batches of
// similar cost are one point of it, which counts hardly more for having been seen often: where nearly all batches are of
// one cost, the few others say most.

import { CostClasses } from "./cost-classes.ts";

/** What a class keeps of its weight when a batch falls elsewhere. */
const KEPT = 1 - 1 / 64;
/** No class counts more than this many batches. */
const HEAVIEST = 4;

export class CostLine {
  readonly #classes = new CostClasses(KEPT);

  record(cost: number, runMs: number): void {
    this.#classes.add(cost, cost, runMs);
  }

  /**
   * What a call costs besides its items, in units of cost: least squares of `runMs = slope * (fixedCost + cost)`, by
   * relative error. Infinity where time does not rise with cost; null where all batches cost the same.
   */
  get fixedCost(): number | null {
    let [sum, sumX, sumY, sumXX, sumXY] = [0, 0, 0, 0, 0];
    for (const { weight, cost, runMs } of this.#classes.values()) {
      const share = Math.min(weight, HEAVIEST) / (runMs * runMs);
      sum += share;
      sumX += share * cost;
      sumY += share * runMs;
      sumXX += share * cost * cost;
      sumXY += share * cost * runMs;
    }
    const spread = sum * sumXX - sumX * sumX;
    if (!(spread > 1e-9 * sum * sumXX)) return null;
    const slope = (sum * sumXY - sumX * sumY) / spread;
    if (!(slope > 0)) return Infinity;
    return Math.max(0, (sumY - slope * sumX) / sum / slope);
  }

  forget(): void {
    this.#classes.forgetFrom(0);
  }
}
