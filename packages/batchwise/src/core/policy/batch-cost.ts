// What a whole batch costs: the sum of its items' costs, the area that padding them to the longest would fill, or what
// the user's function says of them.

import type { Measure } from "../contract/options.ts";
import { ignoreIfPromise } from "../contract/thenable.ts";
import type { Entry } from "../queue/entry.ts";

/** What a batch is said to cost; one that cannot be measured, the sum of its items', or the averages would be lost. */
export function orSum(measured: number, sum: number): number {
  return measured < Infinity ? measured : sum;
}

/**
 * What a cost function says of a copy of the items; Infinity, which does not fit, where it throws or returns no number.
 */
export function measured(batchCost: (items: readonly unknown[]) => number, items: readonly unknown[]): number {
  try {
    const cost: unknown = batchCost(items.slice());
    ignoreIfPromise(cost);
    return typeof cost === "number" && cost >= 0 ? cost : Infinity;
  } catch {
    return Infinity;
  }
}

/** The length of the longest prefix that costs at most `cap`, at least 1, and what it costs. */
export function longestFit<Item>(
  items: readonly Item[],
  cap: number,
  costOf: (prefix: readonly Item[]) => number,
): { readonly count: number; readonly cost: number } {
  const whole = costOf(items);
  if (whole <= cap || items.length <= 1) return { count: items.length, cost: whole };
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
export function measureBatch(entries: readonly Entry[], batchCost: Measure<unknown>): number {
  let sum = 0;
  let largest = 0;
  for (const { cost } of entries) {
    sum += cost;
    largest = Math.max(largest, cost);
  }
  if (batchCost === "sum") return sum;
  if (batchCost === "padded") return entries.length * largest;
  return orSum(measured(batchCost, itemsOf(entries)), sum);
}

/** The items of these entries, in an array that others may keep. Writing over a copy is faster than `map`. */
export function itemsOf(entries: readonly Entry[]): unknown[] {
  const items: unknown[] = entries.slice();
  for (let index = 0; index < items.length; index += 1) items[index] = (entries[index] as Entry).item;
  return items;
}
