// Calls of more items than the queue can ever hold. They are refused whole, before any of their
// items is taken in, unless so many of their items are equal that they may fit after all.

import { type BatchwiseError, callTooLargeError } from "../contract/errors.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import type { Entry } from "../queue/entry.ts";
import { dedupeKeyOf } from "./read-item.ts";

/** The dedupe key of an item, read before. */
export type ReadDedupeKey = () => string;

export function isLargeCall(length: number, { onFull, maxQueueSize }: ResolvedOptions): boolean {
  return onFull === "reject" && length > maxQueueSize;
}

/**
 * Reads the dedupe keys of a call before any of its items is taken in. Null where items have none.
 */
export function readDedupeKeys(entries: readonly Entry[], { dedupe }: ResolvedOptions): ReadDedupeKey[] | null {
  return dedupe === undefined ? null : entries.map(({ item }) => readOnce(() => dedupeKeyOf(dedupe, item)));
}

/**
 * Makes the error of each item of a call that can never fit; null where it may, beside `joinable`
 * items in flight.
 */
export function largeCallRefusal(
  length: number,
  keys: readonly ReadDedupeKey[] | null,
  joinable: number,
  { name, maxQueueSize }: Pick<ResolvedOptions, "name" | "maxQueueSize">,
): (() => BatchwiseError) | null {
  const size = keys === null ? length : countDifferent(keys);
  if (size <= maxQueueSize + joinable) return null;
  const what = keys === null ? "items" : "different items";
  return () => callTooLargeError(name, size, what, maxQueueSize);
}

/**
 * Reads something at once. What comes back gives what was read each time, or throws what reading
 * threw.
 */
export function readOnce<Value>(read: () => Value): () => Value {
  try {
    const value = read();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/**
 * Keys of different lanes that are equal count as one. An item whose key could not be read needs no
 * place.
 */
function countDifferent(keys: readonly ReadDedupeKey[]): number {
  const different = new Set<string>();
  for (const key of keys) {
    try {
      different.add(key());
    } catch {
      // That item is refused when it is taken in.
    }
  }
  return different.size;
}
