// The rows that all processes share beside requests and batches: marks, and ledgers of the
// reservations on the limits of providers. Types only.

/** A named text that all processes share, such as a pause or the owner of a duty. */
export interface MarkRow {
  readonly name: string;
  readonly value: string;
}

/** A mark that is set if it still has the value that was read. */
export interface MarkChange {
  readonly name: string;
  /** Nothing changes unless this is its present value; null for a mark that is not there. */
  readonly expected: string | null;
  /** null takes it away. */
  readonly value: string | null;
}

/** Most that a ledger may hold; Infinity for no limit. */
export interface LedgerLimits {
  readonly tokens: number;
  readonly requests: number;
  readonly batches: number;
}

/**
 * The reservations on one limit of a provider (an account, or an account's model), and the learned
 * limit.
 */
export interface LedgerRow {
  readonly name: string;
  /** Sums over reservations that are not released at the probe's `now`. */
  readonly tokens: number;
  readonly requests: number;
  readonly batches: number;
  /** What a refusal has said, and when. Kept for the dispatcher: a store does nothing with it. */
  readonly learnedTokens: number | null;
  readonly learnedAt: number | null;
  /** Nothing is sealed on it before this. 0 = free. */
  readonly blockedUntil: number;
  /** Refusals in a row; drives the backoff. */
  readonly strikes: number;
  /** Why it is blocked, for people. */
  readonly note: string | null;
  /** On an account's own ledger while it refuses every batch: see accounts/outage.ts. */
  readonly outage: string | null;
}

/**
 * Fields to set on a ledger; absent ones stay. A ledger that does not exist is made with 0 strikes,
 * not blocked, and null in all other fields.
 */
export interface LedgerChanges {
  readonly name: string;
  /**
   * The ledger changes only if its `blockedUntil` equals this (0 for a ledger that does not exist),
   * so that a pause written meanwhile stays. Absent: it always changes.
   */
  readonly ifBlockedUntil?: number;
  /** Sets `blockedUntil` to this, unless it is later already. Not together with `blockedUntil`. */
  readonly blockedAtLeast?: number;
  readonly learnedTokens?: number | null;
  readonly learnedAt?: number | null;
  readonly blockedUntil?: number;
  readonly strikes?: number;
  readonly note?: string | null;
  readonly outage?: string | null;
}
