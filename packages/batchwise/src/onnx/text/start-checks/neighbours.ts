/**
 * Finds out whether a text's vector depends on the other texts of its batch: runs random rows one
 * at a time and together. A dynamically quantised graph uses one scale for a whole batch; a graph
 * without a mask counts padding.
 *
 * Guarantees: the same rows on every start. Rounding of floats does not count as a difference.
 */

import type { ModelSource } from "../model-folder/model-files.ts";
import { splitRows, type VectorBlock } from "../token-batch.ts";
import type { VectorThreads } from "../vector-threads.ts";
import { isThreadEnded, trialRun } from "./trial-run.ts";

/** The largest difference between a row's vector in a batch and its vector in a batch of one. */
export interface NeighbourEffect {
  readonly cosine: number;
  readonly difference: number;
  /** Why the batch failed, if the single rows did not. */
  readonly failure?: string;
}

const TRIAL_ROWS = 32;
const TRIAL_SEED = 20_777;
/** Float graphs differ by about 1e-7; dynamically quantised ones by 1e-2 and more. */
const LEAST_COSINE = 0.999_999;
const LARGEST_DIFFERENCE = 1e-4;

/**
 * Runs random rows of different lengths one at a time and together. Undefined if they agree within
 * the rounding of floats.
 */
export async function neighbourEffect(source: ModelSource, pool: VectorThreads): Promise<NeighbourEffect | undefined> {
  const { tokenizer, maxTokens } = source;
  const random = randomNumbers(TRIAL_SEED);
  const rows = Array.from({ length: TRIAL_ROWS }, (_, index) =>
    Array.from({ length: Math.min(maxTokens, index + 2) }, () => Math.floor(random() * tokenizer.vocabularySize)),
  );
  const tried = await Promise.allSettled(rows.map((row) => trialRun(pool, [row], tokenizer.paddingId)));
  for (const outcome of tried) if (outcome.status === "rejected" && isThreadEnded(outcome.reason)) throw outcome.reason;
  const alone = tried.flatMap((outcome, row) =>
    outcome.status === "fulfilled" ? [{ list: rows[row] ?? [], block: outcome.value }] : [],
  );
  if (alone.length === 0) return undefined;
  checkVectors(alone.map(({ block }) => block));
  let together: VectorBlock;
  try {
    const lists = alone.map(({ list }) => list);
    together = await trialRun(pool, lists, tokenizer.paddingId);
  } catch (error) {
    if (isThreadEnded(error)) throw error;
    return { cosine: 0, difference: 0, failure: error instanceof Error ? error.message : String(error) };
  }
  const vectors = splitRows(together);
  const pairs = alone.flatMap(({ block }, row) =>
    block.notFinite.length > 0 ? [] : [[block.data, vectors[row] ?? []] as const],
  );
  const cosine = Math.min(...pairs.map(([a, b]) => cosineOf(a, b)));
  const difference = Math.max(...pairs.map(([a, b]) => largestDifference(a, b)));
  return cosine >= LEAST_COSINE && difference <= LARGEST_DIFFERENCE ? undefined : { cosine, difference };
}

/** Throws if no text has a vector. */
function checkVectors(blocks: readonly VectorBlock[]): void {
  if (blocks.some(({ notFinite, zeros }) => notFinite.length + zeros.length === 0)) return;
  const got = [
    ...(blocks.some(({ notFinite }) => notFinite.length > 0) ? ["NaN or infinite numbers"] : []),
    ...(blocks.some(({ zeros }) => zeros.length > 0) ? ["nothing but zeros"] : []),
  ].join(", or ");
  throw new Error(`The model gives ${got} for each of ${blocks.length} random texts`);
}

/**
 * The cosine of two vectors of length 1, from their distance: exact for equal vectors, and 1 for
 * two zero vectors.
 */
function cosineOf(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let squares = 0;
  for (let index = 0; index < a.length; index += 1) squares += ((a[index] ?? 0) - (b[index] ?? 0)) ** 2;
  return Number.isFinite(squares) ? 1 - squares / 2 : -1;
}

function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let largest = 0;
  for (let index = 0; index < a.length; index += 1) {
    const difference = Math.abs((a[index] ?? 0) - (b[index] ?? 0));
    largest = Math.max(largest, Number.isFinite(difference) ? difference : Number.POSITIVE_INFINITY);
  }
  return largest;
}

/** The message for the operator. */
export function neighbourWarning(effect: NeighbourEffect, batchAnyway: boolean): string {
  const { cosine, difference, failure } = effect;
  const what =
    failure === undefined
      ? `A text's vector depends on the other texts of its batch (cosine ${cosine.toFixed(4)} to its vector alone, largest difference ${difference.toPrecision(2)}), as dynamically quantised graphs have it`
      : `The model does not take several texts of different lengths at once (${failure})`;
  return batchAnyway
    ? `${what}; batching all the same, as \`batchAnyway\` asks.`
    : `${what}; running one text at a time. \`batchAnyway\` batches them.`;
}

/** Numbers in [0, 1) from a 32-bit seed (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296;
  };
}
