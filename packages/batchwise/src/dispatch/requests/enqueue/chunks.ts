// Divides requests into chunks, each for one store transaction. Limits their count and size, so
// that no store call builds a text too long to send. Pure.

import type { NewRequest } from "../../contract/store/rows.ts";

export const MOST_REQUESTS = 1_000;
export const MOST_BYTES = 16_000_000;

/** Approximate size of a row's texts, in bytes. */
export function sizeOf({ bytes, metadata }: NewRequest): number {
  return bytes + (metadata?.length ?? 0);
}

/** Yields the rows as chunks, in order. A row over the size limit gets a chunk of its own. */
export function* chunks(rows: readonly NewRequest[]): Generator<NewRequest[]> {
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
