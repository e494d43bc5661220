// Exponential backoff. Pure.

/** The wait before attempt `count + 1`: `first` for count 1, doubled for each, at most `most`. */
export function backoff(first: number, most: number, count: number): number {
  return Math.min(most, first * 2 ** Math.max(0, Math.min(count, 40) - 1));
}
