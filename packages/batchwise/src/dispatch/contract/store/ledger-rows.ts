// The rows that all processes share beside requests and batches: marks, and ledgers of what is
// booked on the limits of providers. Types only.

/** A named text that all processes share: what is paused, who has a duty. */
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
 * What is booked on one limit of a provider (an account, or an account's model) and what was
 * learned about it.
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
   * Nothing of this ledger changes unless its `blockedUntil` is this (0 for a ledger that does not
   * exist): a pause that was written meanwhile stays. Absent: it changes whatever that is.
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
