// What goes in and out of `Store.prune`. Types only.

import type { OutcomeStatus } from "./types.ts";

/** What a store lets go of in one call. */
export interface PruneInput {
  /** Outcomes recorded at or before this may go. */
  readonly before: number;
  /** Only outcomes with one of these. */
  readonly statuses: readonly OutcomeStatus[];
  /** Tombstones of requests that were pruned at or before this go too. Absent: none goes. */
  readonly tombstonesBefore?: number;
  /** Ended batches that were last written at or before this may go. */
  readonly batchesBefore: number;
  /** Where to go on: 0 at first, then the `next` of the call before. */
  readonly after: number;
  /**
   * Most requests that the call prunes, most batches that it takes away and, nearly, most
   * tombstones. At least 1.
   */
  readonly limit: number;
  readonly now: number;
}

/** What one call has done. */
export interface PruneStep {
  /** Requests of which only id and digest are left now. */
  readonly requests: number;
  /** Batches taken away. */
  readonly batches: number;
  /** Outcomes that would have gone, were no delivery of theirs waiting. */
  readonly kept: number;
  /** `after` of the next call; null when there is no more to do. */
  readonly next: number | null;
}
