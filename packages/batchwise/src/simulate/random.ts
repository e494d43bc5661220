// Random numbers with a seed.

/** A random number in [0, 1). */
export type Random = () => number;

/**
 * Independent streams of one seed, by number, so that arrivals stay the same if a policy calls the
 * service more or less often.
 */
export function randomOf(seed: number, stream: number): Random {
  let state = (Math.imul(seed ^ (seed / 2 ** 32), 0x9e3779b1) ^ Math.imul(stream + 1, 0x85ebca6b)) >>> 0;
  // mulberry32: 32 bits of state, enough for the few million numbers of a run.
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A draw of the exponential distribution with this mean. */
export function exponential(random: Random, mean: number): number {
  return -mean * Math.log(1 - random());
}

/** A draw of the standard normal distribution, by Box and Muller's transform. */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
