// What a whole batch costs: the sum of its items' costs, the area that padding them to the longest would fill, or what
// the user's function says of them.

import type { Segment } from "../queue/segment.ts";

/** How the cost of a whole batch follows from its entries. A function must not decrease when items are added. */
export type Measure<Item> = "sum" | "padded" | ((items: readonly Item[]) => number);

/** What a batch is said to cost; one that cannot be measured, the sum of its items', or the averages would be lost. */
export function orSum(measured: number, sum: number): number {
  return measured < Number.POSITIVE_INFINITY ? measured : sum;
}

/** What a cost function says; Infinity, which does not fit, where it throws or returns no number. */
export function measured(batchCost: (items: readonly unknown[]) => number, items: readonly unknown[]): number {
  try {
    const cost = batchCost(items);
    return typeof cost === "number" && cost >= 0 ? cost : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** The length of the longest prefix that costs at most `cap`, at least 1, and what it costs. */
export function longestFit<Item>(
  items: readonly Item[],
  cap: number,
  costOf: (prefix: readonly Item[]) => number,
): { readonly count: number; readonly cost: number } {
  const whole = costOf(items);
  if (whole <= cap || items.length === 1) return { count: items.length, cost: whole };
  let fits = 1;
  let fitsCost = costOf(items.slice(0, 1));
  let over = 2;
  while (over < items.length) {
    const cost = costOf(items.slice(0, over));
    if (cost > cap) break;
    fits = over;
    fitsCost = cost;
    over *= 2;
  }
  over = Math.min(over, items.length);
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    const cost = costOf(items.slice(0, middle));
    if (cost > cap) over = middle;
    else [fits, fitsCost] = [middle, cost];
  }
  return { count: fits, cost: fitsCost };
}

/** What a batch costs that is already formed, such as one half of a batch that failed. */
export function measureBatch(segment: Segment, batchCost: Measure<unknown>): number {
  if (typeof batchCost === "function") return orSum(measured(batchCost, segment.items), segment.cost);
  if (batchCost === "sum") return segment.cost;
  let largest = 0;
  for (let index = 0; index < segment.length; index += 1) largest = Math.max(largest, segment.costAt(index));
  return segment.length * largest;
}
