// Input and result of `Store.prune`. Types only.

import type { OutcomeStatus } from "../types.ts";

/** Which rows one call may delete. */
export interface PruneInput {
  /** Outcomes recorded at or before this time. */
  readonly before: number;
  /** Only outcomes with one of these. */
  readonly statuses: readonly OutcomeStatus[];
  /** Tombstones of requests pruned at or before this time. Absent: none. */
  readonly tombstonesBefore?: number;
  /** Ended batches last written at or before this time. */
  readonly batchesBefore: number;
  /** Where to continue: 0 at first, then `next` of the previous call. */
  readonly after: number;
  /** Maximum requests to prune and batches to delete and, approximately, tombstones. At least 1. */
  readonly limit: number;
  readonly now: number;
}

/** The result of one call. */
export interface PruneStep {
  /** Requests that were reduced to id and digest. */
  readonly requests: number;
  /** Deleted batches. */
  readonly batches: number;
  /** Outcomes that are kept only because a delivery waits. */
  readonly kept: number;
  /** `after` of the next call; null at the end. */
  readonly next: number | null;
}
