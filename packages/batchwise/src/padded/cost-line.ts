// Estimates the cost of a call besides its items: the straight line through the times of the last
// batches by their cost. Batches of similar cost are one point, whose weight hardly grows with
// their number: if nearly all batches have one cost, the few others matter most.

import type { CostClass, CostClasses } from "../core/policy/cost-classes.ts";

/** Highest weight of a class, in batches. */
const HEAVIEST = 4;
/** A few points may lie on a line by chance, so times are taken as exact to 10 % at best. */
const LEAST_VARIANCE = 0.1 ** 2;

/**
 * The cost of a call besides its items, in units of cost, as far as it is certain: that of the line
 * through the mean point which is one standard error steeper than the best line, by least squares
 * of relative errors. Infinity if time does not rise with cost; null if all batches cost the same.
 */
export function fixedCostOf(batches: CostClasses): number | null {
  const points = batches.byCost();
  const share = ({ weight, runMs }: CostClass): number => Math.min(weight, HEAVIEST) / (runMs * runMs);
  const sum = (term: (point: CostClass) => number): number =>
    points.reduce((total, one) => total + share(one) * term(one), 0);
  const all = sum(() => 1);
  const [meanCost, meanMs] = [sum(({ cost }) => cost) / all, sum(({ runMs }) => runMs) / all];
  const spread = sum(({ cost }) => (cost - meanCost) ** 2);
  if (!(spread > 1e-9 * all * meanCost * meanCost)) return null;
  const best = sum(({ cost, runMs }) => (cost - meanCost) * (runMs - meanMs)) / spread;
  const misses = sum(({ cost, runMs }) => (runMs - meanMs - best * (cost - meanCost)) ** 2);
  const variance = Math.max(LEAST_VARIANCE, misses / Math.max(1, points.length - 2));
  const slope = best + Math.sqrt(variance / spread);
  return slope > 0 ? Math.max(0, meanMs / slope - meanCost) : Infinity;
}
