// Types of `stats()`.

import type { BatchReason } from "./outcome.ts";

/**
 * The distribution of a value. All fields are 0 before the first value; `mean` and `max` are exact.
 */
export interface Quantiles {
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** The state of `maxBatchCost: "learn"` or `targetLatencyMs`. */
export interface LearnedStats {
  /**
   * The maximum cost of the next batch; the highest if several keys have their own. 0 before the
   * first batch.
   */
  readonly maxBatchCost: number;
  /**
   * `"learning"`: too few batches so far. `"learned"`: found; larger batches are still tried
   * sometimes. `"relearning"`: the handler changed and the result was discarded.
   */
  readonly state: "learning" | "learned" | "relearning";
  /** With `targetLatencyMs`. */
  readonly target?: TargetStats;
}

/** What a batcher with `targetLatencyMs` has learned of its handler, and done about it. */
export interface TargetStats {
  /** The time of a call besides its items, in milliseconds. */
  readonly fixedMs: number;
  /** The time of one unit of cost, in milliseconds. */
  readonly unitMs: number;
  /** Items per second that can be served within the target; 0 before the first batches. */
  readonly capacityPerSecond: number;
  /** Items refused with OVERLOADED since the batcher was made. */
  readonly refused: number;
}

/** Counters since the batcher was made or `resetStats()` was called. Durations are in ms. */
export interface BatcherStats {
  /** Items passed to submit, submitMany and submitSettled, with any outcome. */
  readonly submitted: number;
  /** Items answered with a result. */
  readonly completed: number;
  /**
   * Items that a user function failed: the handler's error, an unusable result, HANDLER_TIMEOUT.
   */
  readonly failed: number;
  /** Items whose signal aborted. */
  readonly cancelled: number;
  /** Items whose deadline passed. */
  readonly expired: number;
  /** Items refused or dropped: QUEUE_FULL, OVERLOADED, ITEM_TOO_LARGE, CLOSED. */
  readonly rejected: number;
  /** Items that shared the place of an equal one. */
  readonly deduped: number;
  /** Items answered from the cache. */
  readonly cacheHits: number;
  /** Batches handed to the handler. */
  readonly batches: number;
  readonly batchesByReason: Readonly<Record<BatchReason, number>>;
  /** Items waiting now, including items of batches that pause before a retry. */
  readonly waiting: number;
  /** Submits that a full queue holds back now (`onFull: "wait"`). */
  readonly blocked: number;
  /** Items without an answer in running batches now. */
  readonly running: number;
  /** Batches running now. */
  readonly runningBatches: number;
  readonly averageBatchSize: number;
  readonly averageBatchCost: number;
  /** Share of time with a running batch, from the first submit to the end of `close()`: 0 to 1. */
  readonly utilization: number;
  /** The two parts of that time. */
  readonly busyMs: number;
  readonly idleMs: number;
  /** From an item's submit, or the end of its cache look-up, to its batch's start. */
  readonly waitMs: Quantiles;
  /** From a batch's start to its end. */
  readonly runMs: Quantiles;
  /** From an item's submit to its answer, for completed and failed items. */
  readonly latencyMs: Quantiles;
  /** Number of items in a batch when the handler was called, and its cost. */
  readonly batchSize: Quantiles;
  readonly batchCost: Quantiles;
  /** Wait of the longest-waiting item now; 0 if none waits. */
  readonly oldestWaitMs: number;
  /**
   * With `maxBatchCost: "learn"` or `targetLatencyMs`, else null. `resetStats()` keeps it.
   */
  readonly learned: LearnedStats | null;
}
