// The result of `Store.probe`: the waiting requests and the state of the store, in one read. Types
// only.

import type { BatchState, OutcomeStatus } from "../types.ts";
import type { LedgerRow } from "./ledger-rows.ts";

/** The waiting requests of a lane, up to the probe's `limit`. */
export interface LaneRow {
  readonly lane: string;
  /** Number of requests that may go. At least the limit if that many, or more, may go. */
  readonly ready: number;
  /**
   * Sums over `ready` requests. If `ready` reaches the limit, they may be extrapolated from the
   * first 1,000.
   */
  readonly bytes: number;
  readonly tokens: number;
  /**
   * Earliest createdAt of the requests read; null if every request of the lane waits for its
   * `notBefore`.
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

/** The waiting requests and the state of the store, in one read. */
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
