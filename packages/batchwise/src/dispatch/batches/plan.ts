// What a decision does to a batch: its next state and time, and what else changes. Pure;
// batches/apply-plan.ts writes it as one `transition`.

import type { Outage } from "../accounts/outage.ts";
import type { ProviderBatch } from "../contract/account.ts";
import type { LedgerChanges } from "../contract/store/ledger-rows.ts";
import type { BatchChanges } from "../contract/store/rows.ts";
import type { BatchState, OutcomeError } from "../contract/types.ts";
import type { Disposal } from "../format/payload.ts";

type Figures = Pick<
  BatchChanges,
  | ("pollMs" | "tries" | "triesSince" | "wholeFailures" | "firstRefusedAt" | "lastRefusedAt")
  | ("filePendingSince" | "lostLooks" | "lostSince" | "releaseAt")
>;

export interface Plan {
  readonly state: BatchState;
  readonly nextAt: number;
  /** What is counted and noted about the batch; other figures stay as they are. */
  readonly figures: Figures;
  readonly disposal: Disposal | null;
  /** The last failure, for people; undefined keeps the present one. */
  readonly lastError: OutcomeError | null | undefined;
  /** The provider's batch has ended: clear its id and record it as an `ended` orphan. */
  readonly forget: boolean;
  /**
   * The uploaded file may be the fault: clear its id, so that the next attempt uploads it again.
   */
  readonly dropFile: boolean;
  /** Write on the batch's ledger. `learnedTokens`: null where nothing has been learned. */
  readonly ledger: {
    readonly learnedTokens: number | null;
    readonly pause: Required<Pick<LedgerChanges, "strikes" | "blockedUntil">> | null;
  } | null;
  /** Write on the account's own ledger: nothing is sealed or submitted there before. */
  readonly pauseAccountUntil: number | null;
  /** That pause is for a refused key: see accounts/pause-changes.ts. */
  readonly isKeyRefused: boolean;
  /** Write on the account's own ledger: every batch is refused there. */
  readonly outage: Outage | null;
  /** How long this process prefers other accounts, in ms. Other processes may reach this one. */
  readonly avoidAccountMs: number | null;
}

/** A plan that makes these changes and leaves the rest of the batch as it is. */
export function plan(state: BatchState, nextAt: number, changes: Partial<Plan>): Plan {
  return {
    state,
    nextAt,
    figures: {},
    disposal: null,
    lastError: null,
    forget: false,
    dropFile: false,
    ledger: null,
    pauseAccountUntil: null,
    isKeyRefused: false,
    outage: null,
    avoidAccountMs: null,
    ...changes,
  };
}

/**
 * Resets the counters of sending, finding and reading, for a batch that the provider has accepted
 * or an operator has resumed.
 */
export const BEGUN_ANEW: BatchChanges = {
  ...{ unknownSince: null, lastError: null, pollMs: 0, tries: 0, triesSince: null, filePendingSince: null },
  ...{ lostLooks: 0, lostSince: null, failedReads: 0, unreadableReads: 0, shortReads: null },
};

/** The batch goes on as this batch of the provider, which was created or found for it. */
export function tiedTo(seen: ProviderBatch, verified: boolean): BatchChanges {
  const { id: providerBatchId, rawState: providerState, expiresAt } = seen;
  return { ...BEGUN_ANEW, state: "submitted", providerBatchId, verified, providerState, expiresAt };
}

/** The batch has no batch at the provider. */
export const UNTIED: BatchChanges = { providerBatchId: null, verified: true, providerState: null, expiresAt: null };
