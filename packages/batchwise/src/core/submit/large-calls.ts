// Calls with more items than the queue can hold. They are refused whole before any item is
// accepted, unless so many items are equal that the call may fit.

import { type BatchwiseError, callTooLargeError } from "../contract/errors.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import type { Entry } from "../queue/entry.ts";
import { dedupeKeyOf } from "./read-item.ts";

/** Returns an item's dedupe key, which was read before. */
export type ReadDedupeKey = () => string;

export function isLargeCall(length: number, { onFull, maxQueueSize }: ResolvedOptions): boolean {
  return onFull === "reject" && length > maxQueueSize;
}

/** Reads the dedupe keys of a call before accepting its items. Null if items have none. */
export function readDedupeKeys(entries: readonly Entry[], { dedupe }: ResolvedOptions): ReadDedupeKey[] | null {
  return dedupe === undefined ? null : entries.map(({ item }) => readOnce(() => dedupeKeyOf(dedupe, item)));
}

/**
 * The error for each item of a call that can never fit. null if it may, with `joinable` items in
 * flight.
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

/** Reads a value at once. The returned function returns it, or throws the error of the read. */
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
 * Counts distinct keys. Equal keys of different lanes count as one; an item whose key could not be
 * read needs no place.
 */
function countDifferent(keys: readonly ReadDedupeKey[]): number {
  const different = new Set<string>();
  for (const key of keys) {
    try {
      different.add(key());
    } catch {
      // The item is refused when it is accepted.
    }
  }
  return different.size;
}
