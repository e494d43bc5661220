/** Medians, quantiles and seeded random numbers for the benchmarks. Pure. */

function sorted(values: readonly number[]): number[] {
  return [...values].sort((left, right) => left - right);
}

/** The value below which the share `at` of `values` lies (nearest rank); NaN for an empty array. */
export function quantile(values: readonly number[], at: number): number {
  const rank = Math.max(0, Math.ceil(at * values.length) - 1);
  return sorted(values)[rank] ?? Number.NaN;
}

/** The middle value, or the mean of the two middle values; NaN for an empty array. */
export function median(values: readonly number[]): number {
  const ordered = sorted(values);
  const upper = Math.floor(ordered.length / 2);
  if (ordered.length % 2 === 1) return ordered[upper] as number;
  return ((ordered[upper - 1] ?? Number.NaN) + (ordered[upper] ?? Number.NaN)) / 2;
}

/** Numbers in [0, 1), the same for the same seed (a 32-bit Weyl sequence, mixed). */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  };
}

export function shuffled<Value>(values: readonly Value[], random: () => number): Value[] {
  const result = [...values];
  for (let at = result.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    [result[at], result[other]] = [result[other] as Value, result[at] as Value];
  }
  return result;
}

/**
 * Arrival times in milliseconds from 0 to `durationMs`: a Poisson process with `perSecond`
 * arrivals.
 */
export function poissonArrivals(perSecond: number, durationMs: number, seed: number): Float64Array {
  const random = seededRandom(seed);
  const times: number[] = [];
  for (let at = 0; ; ) {
    at += (-Math.log(1 - random()) * 1000) / perSecond;
    if (at >= durationMs) return Float64Array.from(times);
    times.push(at);
  }
}
