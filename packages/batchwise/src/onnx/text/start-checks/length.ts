/**
 * Finds the longest text that a model takes, if its files do not guarantee `maxTokens`. A table of
 * positions ends somewhere, and the first long text must not be the one that finds the end.
 *
 * Guarantees: if the user set a limit above what the model takes, the error has both numbers; a
 * default limit is lowered instead. The trials take at most ten seconds; a trial that would take
 * longer, judged by the last, is not started, and untried lengths count as taken. Throws for a
 * limit that leaves no token beside the special tokens.
 */

import { modelLoadError } from "../../errors.ts";
import type { ModelSource } from "../model-folder/model-files.ts";
import { specialTokensOf } from "../special-tokens.ts";
import type { TokenBatch } from "../token-batch.ts";
import { tooLong } from "../token-limit.ts";
import type { VectorThreads } from "../vector-threads.ts";
import { isThreadEnded, trialRunOf } from "./trial-run.ts";

const MOST_TRIAL_MS = 10_000;
/**
 * Longer ones are reached by doubling, so that no trial needs far more memory than the last
 * successful one.
 */
const FIRST_LENGTH = 512;

/** Returns the model with a limit that it can keep. Throws MODEL_LOAD. */
export async function withLimitTried(source: ModelSource, pool: VectorThreads): Promise<ModelSource> {
  const { maxTokens, positions = 0, tokenizer, isLimitAsked, path } = source;
  if (maxTokens <= positions) return source;
  const { vocabularySize, paddingId } = tokenizer;
  // In some graphs padding has no position, so the id must be another one.
  const id = vocabularySize - 1 === paddingId ? vocabularySize - 2 : vocabularySize - 1;
  const { taken, error } = await longestTaken(maxTokens, async (length) => {
    await trialRunOf(pool, () => repeated(id, length));
  });
  if (error === undefined) return source;
  if (!isLimitAsked) return { ...source, maxTokens: taken };
  const reason = error instanceof Error ? error.message : String(error);
  const message = `${tooLong(maxTokens, taken)} (${reason})`;
  throw modelLoadError(path, new Error(message, { cause: error }));
}

/**
 * Throws if the tokenizer's special tokens leave no token for a text. If they are unknown, all
 * limits pass.
 */
export function checkRoomForText({ maxTokens, isLimitAsked, tokenizer }: ModelSource): void {
  const special = specialTokensOf(tokenizer);
  const count = special === undefined ? 0 : special.before.length + special.after.length;
  if (maxTokens > count) return;
  const limit = isLimitAsked ? "`maxTokens` allows" : "The model takes";
  throw new Error(
    `${limit} at most ${maxTokens} tokens a text, but its tokenizer puts ${count} special tokens around each, so no text fits; expected at least ${count + 1}`,
  );
}

/** One row, filled at once: a list of millions of ids would take seconds in this thread. */
function repeated(id: number, length: number): TokenBatch {
  const ids = new BigInt64Array(length).fill(BigInt(id));
  return { rows: 1, columns: length, ids, mask: new BigInt64Array(length).fill(1n) };
}

interface Tried {
  readonly taken: number;
  /** The error of the shortest length that failed; undefined if none did. */
  readonly error: unknown;
}

/** A text of one token has been tried before. */
async function longestTaken(most: number, run: (length: number) => Promise<void>): Promise<Tried> {
  const end = performance.now() + MOST_TRIAL_MS;
  let taken = 1;
  let tookMs = 0;
  let over = most + 1;
  let error: unknown;
  while (over - taken > 1) {
    const length = error === undefined ? Math.min(most, Math.max(FIRST_LENGTH, taken * 2)) : (taken + over) >> 1;
    const start = performance.now();
    // The time of attention grows with the square of the length.
    if (start >= end || tookMs * (length / taken) ** 2 > end - start) break;
    const outcome = await outcomeOf(run(length), end);
    if (outcome === "late") break;
    if (outcome === "taken") {
      taken = length;
      tookMs = performance.now() - start;
    } else {
      error = outcome.error;
      over = length;
    }
  }
  return { taken, error };
}

/** Rejects if the failure is not the model's. */
async function outcomeOf(work: Promise<void>, end: number): Promise<"taken" | "late" | { readonly error: unknown }> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(resolve, Math.max(0, end - performance.now()), "late");
  });
  const ended = work.then(
    () => "taken" as const,
    (error: unknown) => {
      if (isThreadEnded(error)) throw error;
      return { error };
    },
  );
  try {
    return await Promise.race([ended, late]);
  } finally {
    clearTimeout(timer);
  }
}
