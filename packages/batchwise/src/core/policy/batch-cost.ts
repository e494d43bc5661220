// What a whole batch costs: the sum of its items' costs, the area that padding them to the longest
// would fill, or what the user's function says of them.

import type { Measure } from "../contract/options.ts";
import { ignoreIfPromise } from "../contract/thenable.ts";
import type { Entry } from "../queue/entry.ts";

/**
 * What a batch is said to cost; one that cannot be measured, the sum of its items', or the averages
 * would be lost.
 */
export function orSum(measured: number, sum: number): number {
  return measured < Infinity ? measured : sum;
}

/**
 * What a cost function says of the items; Infinity, which does not fit, where it throws or returns
 * no number. The array is the function's own then.
 */
export function measured(batchCost: (items: readonly unknown[]) => number, items: unknown[]): number {
  try {
    const cost: unknown = batchCost(items);
    ignoreIfPromise(cost);
    return typeof cost === "number" && cost >= 0 ? cost : Infinity;
  } catch {
    return Infinity;
  }
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

/**
 * The items of these entries, in an array that others may keep. Writing over a copy is faster than
 * `map`.
 */
export function itemsOf(entries: readonly Entry[]): unknown[] {
  const items: unknown[] = entries.slice();
  for (let index = 0; index < items.length; index += 1) items[index] = (entries[index] as Entry).item;
  return items;
}
