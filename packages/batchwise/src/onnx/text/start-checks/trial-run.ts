/**
 * Runs lists of ids to find out what the model does with them.
 *
 * Guarantees: a thread that dies says nothing about the model, so its run is tried once more. A
 * second death rejects with THREAD_ENDED, which is for the caller of `openEmbedder`.
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

/** `batch` is called for each run, which hands the buffers over to a thread. */
export async function trialRunOf(pool: VectorThreads, batch: () => TokenBatch): Promise<VectorBlock> {
  try {
    return await pool.run(batch());
  } catch (error) {
    if (!isThreadEnded(error)) throw error;
    return await pool.run(batch());
  }
}

/** A property of the process at that time, where any other failure is one of the model. */
export function isThreadEnded(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "THREAD_ENDED";
}
