// The cost of a whole batch: the sum of its items' costs, their padded area, or the result of the
// user's function.

import type { Measure } from "../contract/options.ts";
import { ignoreIfPromise } from "../contract/thenable.ts";
import type { Entry } from "../queue/entry.ts";

/** The measured cost; if it is no number, the sum, because averages must stay finite. */
export function orSum(measured: number, sum: number): number {
  return measured < Infinity ? measured : sum;
}

/**
 * The result of a cost function; Infinity, which never fits, if it throws or returns no number. The
 * function may keep the array.
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

/** The cost of a formed batch, such as one half of a failed one. */
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
 * The items of these entries in a new array, which others may keep. Writing over a copy is faster
 * than `map`.
 */
export function itemsOf(entries: readonly Entry[]): unknown[] {
  const items: unknown[] = entries.slice();
  for (let index = 0; index < items.length; index += 1) items[index] = (entries[index] as Entry).item;
  return items;
}
