// What a store says of itself and of what waits, in one read. Types only.

import type { BatchState, OutcomeStatus } from "../types.ts";
import type { LedgerRow } from "./ledger-rows.ts";

/** What waits in a lane, as far as the probe's `limit`. */
export interface LaneRow {
  readonly lane: string;
  /** At least the limit where so many, or more, may go. */
  readonly ready: number;
  /**
   * Sums over `ready` requests. Where `ready` reaches the limit, they may be reckoned from the
   * first 1,000.
   */
  readonly bytes: number;
  readonly tokens: number;
  /**
   * Earliest createdAt among those looked at; null when all of the lane waits for its `notBefore`.
   */
  readonly oldestAt: number | null;
  /**
   * Earliest max(createdAt, notBefore) among those: since when one could have been claimed; null as
   * above.
   */
  readonly readySince: number | null;
  /** Earliest deadline of a ready request of the lane. */
  readonly deadlineAt: number | null;
  /** Earliest `notBefore` that lies after now. */
  readonly deferredUntil: number | null;
}

/** What a store says of itself and of what waits, in one read. */
export interface Probe {
  readonly lanes: readonly LaneRow[];
  /** Every ledger that was ever booked on or written to. */
  readonly ledgers: readonly LedgerRow[];
  /** Batches by state; `done` is kept as a counter. */
  readonly batches: Readonly<Record<BatchState, number>>;
  /** Sum of `remaining` over all batches: every claimed request. */
  readonly inBatches: number;
  /**
   * Earliest max(nextAt, leaseUntil) of batches that `lease` may give out; null when there is none.
   */
  readonly batchDueAt: number | null;
  /** Outcomes ever recorded, by status: kept as counters, never counted. */
  readonly outcomes: Readonly<Record<OutcomeStatus, number>>;
  /** The highest cursor given out; 0 at first. */
  readonly cursor: number;
  readonly deliveriesWaiting: number;
  readonly deliveryDueAt: number | null;
}
