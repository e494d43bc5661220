// How much a store is given in one transaction: by count, and by size, so that no call becomes a text too long to build
// or to send. Pure.

import type { NewRequest } from "../contract/rows.ts";

export const MOST_REQUESTS = 1_000;
export const MOST_BYTES = 16_000_000;

/** What a row's texts come to, near enough. */
export function sizeOf({ bytes, metadata }: NewRequest): number {
  return bytes + (metadata?.length ?? 0);
}

/** The rows in order, parted. One that is over the size by itself goes alone. */
export function* portions(rows: readonly NewRequest[]): Generator<NewRequest[]> {
  let [from, size] = [0, 0];
  for (const [index, row] of rows.entries()) {
    const own = sizeOf(row);
    if (index > from && (index - from >= MOST_REQUESTS || size + own > MOST_BYTES)) {
      yield rows.slice(from, index);
      from = index;
      size = 0;
    }
    size += own;
  }
  if (from < rows.length) yield rows.slice(from);
}
