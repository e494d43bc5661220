// Divides requests into chunks for one store transaction each, limited by count and by size, so
// that no call becomes a text too long to build or to send. Pure.

import type { NewRequest } from "../contract/rows.ts";

export const MOST_REQUESTS = 1_000;
export const MOST_BYTES = 16_000_000;

/** The approximate length of a row's texts. */
export function sizeOf({ bytes, metadata }: NewRequest): number {
  return bytes + (metadata?.length ?? 0);
}

/** The rows, in order, in chunks. A row that exceeds the size alone gets a chunk of its own. */
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
