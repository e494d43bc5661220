/**
 * Random weights that are the same on every machine: mulberry32 for randomness, and a sum of four
 * uniform numbers to approximate a bell curve. It uses only integer arithmetic, additions and one
 * square root, all exactly specified, so a seed determines the file.
 *
 * Not for secrets, and not a good enough generator for statistics.
 */

/** Uniform numbers in [0, 1) from a 32-bit seed. */
export function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** `count` numbers of mean 0 and the given standard deviation. */
export function randomWeights(random: () => number, count: number, deviation: number): Float32Array {
  const values = new Float32Array(count);
  // The sum of four uniform numbers has mean 2 and variance 4/12.
  const scale = deviation * Math.sqrt(3);
  for (let index = 0; index < count; index += 1) {
    values[index] = (random() + random() + random() + random() - 2) * scale;
  }
  return values;
}

/** `count` copies of one number: biases and the gains of layer normalisation. */
export function constantWeights(count: number, value: number): Float32Array {
  return new Float32Array(count).fill(value);
}
