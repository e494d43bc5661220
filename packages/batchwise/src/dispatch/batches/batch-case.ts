// The case that decisions about a batch get: the batch, its account, the evidence on both, and the
// time. Pure.

import type { Outage } from "../accounts/outage.ts";
import type { LedgerRow } from "../contract/store/ledger-rows.ts";
import type { BatchRow } from "../contract/store/rows.ts";
import type { StepAccount } from "./life-cycle.ts";

export interface BatchCase {
  readonly batch: BatchRow;
  readonly account: StepAccount;
  readonly ledger: LedgerRow | null;
  /** The account has accepted other batches of the model since this one began to fail. */
  readonly othersAccepted: boolean;
  readonly evidence: Evidence;
  readonly now: number;
}

/** What other batches say about a refusal of this one as a whole. */
export interface Evidence {
  /**
   * Since this batch was last refused, or the one that it is a part of, the account took another of
   * its lane.
   */
  readonly laneTakesOthers: boolean;
  /** The same, of any lane. */
  readonly accountTakesOthers: boolean;
  readonly outage: Outage | null;
  readonly pausedUntil: number;
}

export const NO_EVIDENCE: Evidence = {
  laneTakesOthers: false,
  accountTakesOthers: false,
  outage: null,
  pausedUntil: 0,
};
