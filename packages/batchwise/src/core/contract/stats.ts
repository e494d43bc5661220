// What `stats()` says.

import type { BatchReason } from "./outcome.ts";

/**
 * The distribution of a value. All are 0 while nothing was recorded; `mean` and `max` are exact.
 */
export interface Quantiles {
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** What `maxBatchCost: "learn"` has found. */
export interface LearnedStats {
  /**
   * What the next batch may cost; of several keys that have learned their own, the most. 0 before
   * the first batch.
   */
  readonly maxBatchCost: number;
  /**
   * `"learning"` until batches of similar cost have been enough; then `"learned"`, which larger
   * batches are still tried beside; `"relearning"` where the handler has changed and all was
   * forgotten.
   */
  readonly state: "learning" | "learned" | "relearning";
}

/**
 * What a batcher has done since it was made, or since `resetStats()`. Durations are in
 * milliseconds.
 */
export interface BatcherStats {
  /** Items given to submit, submitMany and submitSettled, whatever became of them. */
  readonly submitted: number;
  /** Items answered with a result. */
  readonly completed: number;
  /**
   * Items that a user function failed: the handler's error, a result that could not be used,
   * HANDLER_TIMEOUT.
   */
  readonly failed: number;
  /** Items whose signal aborted. */
  readonly cancelled: number;
  /** Items whose deadline passed. */
  readonly expired: number;
  /** Items refused or dropped: QUEUE_FULL, ITEM_TOO_LARGE, CLOSED. */
  readonly rejected: number;
  /** Items that shared the place of an equal one. */
  readonly deduped: number;
  /** Items answered from the cache. */
  readonly cacheHits: number;
  /** Batches handed to the handler. */
  readonly batches: number;
  readonly batchesByReason: Readonly<Record<BatchReason, number>>;
  /** Items waiting now, those of batches that pause before a retry included. */
  readonly waiting: number;
  /** Submits that a full queue holds back now (`onFull: "wait"`). */
  readonly blocked: number;
  /** Items in running batches now. */
  readonly running: number;
  /** Batches running now. */
  readonly runningBatches: number;
  readonly averageBatchSize: number;
  readonly averageBatchCost: number;
  /**
   * Share of the time, from the first submit to the end of `close()`, in which any batch ran: 0 to
   * 1.
   */
  readonly utilization: number;
  /** The two parts of that time. */
  readonly busyMs: number;
  readonly idleMs: number;
  /** From an item's submit, or from the end of its look-up in a cache, to its batch's start. */
  readonly waitMs: Quantiles;
  /** From a batch's start to its end. */
  readonly runMs: Quantiles;
  /** From an item's submit to its answer, of completed and failed items. */
  readonly latencyMs: Quantiles;
  /** Items in a batch when it was handed to the handler, and what it cost. */
  readonly batchSize: Quantiles;
  readonly batchCost: Quantiles;
  /** How long the item has waited that waits longest now; 0 when nothing waits. */
  readonly oldestWaitMs: number;
  /** With `maxBatchCost: "learn"`, else null. `resetStats()` forgets nothing of it. */
  readonly learned: LearnedStats | null;
}
