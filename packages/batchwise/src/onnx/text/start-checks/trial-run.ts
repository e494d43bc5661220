/**
 * Runs lists of ids to find out how the model treats them.
 *
 * Guarantees: the death of a thread says nothing about the model, so the run is tried once more. A
 * second death rejects with THREAD_ENDED, which reaches the caller of `openEmbedder`.
 */

import { padTokens, type TokenBatch, type VectorBlock } from "../token-batch.ts";
import type { VectorThreads } from "../vector-threads.ts";

export function trialRun(
  pool: VectorThreads,
  lists: readonly (readonly number[])[],
  paddingId: number,
): Promise<VectorBlock> {
  return trialRunOf(pool, () => padTokens(lists, paddingId));
}

/** `batch` is called for each run, because a run transfers its buffers to a thread. */
export async function trialRunOf(pool: VectorThreads, batch: () => TokenBatch): Promise<VectorBlock> {
  try {
    return await pool.run(batch());
  } catch (error) {
    if (!isThreadEnded(error)) throw error;
    return await pool.run(batch());
  }
}

/** True for a failure of the process at that time; any other failure is the model's. */
export function isThreadEnded(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "THREAD_ENDED";
}
