// Decides what lanes that share one limit of a provider leave to one another. Pure. A lane whose
// next batch finds no room begins to wait for it, and a part of the limit is kept for the lane that
// has waited longest: batches that end free it bit by bit, and no other lane takes it meanwhile.
// The others share what is left, so that one large request stops nobody.

import type { LedgerLimits } from "../../contract/rows.ts";
import type { SealResult } from "../../contract/store.ts";

/**
 * A lane that waits for room, and what is to be kept for it on each ledger that had none for it.
 */
export interface WaitingLane {
  readonly lane: string;
  /** The turn in which it began. */
  readonly since: number;
  readonly kept: ReadonlyMap<string, LedgerLimits>;
}

const NOTHING: LedgerLimits = { tokens: 0, requests: 0, batches: 0 };

/**
 * What the lane must leave on a ledger: what is kept for the one that waits longest, unless that is
 * the lane itself.
 */
export function keptFrom(lane: string, ledger: string, waiting: Iterable<WaitingLane>): LedgerLimits {
  let first: WaitingLane | null = null;
  for (const each of waiting) {
    if (each.kept.has(ledger) && (first === null || each.since < first.since)) first = each;
  }
  return first === null || first.lane === lane ? NOTHING : (first.kept.get(ledger) ?? NOTHING);
}

/**
 * The limits of a ledger without what is kept. `tokenLimit`: the lower one of tokens, told or
 * learned.
 */
export function limitsWithout(kept: LedgerLimits, limits: LedgerLimits, tokenLimit: number): LedgerLimits {
  return {
    tokens: Math.min(limits.tokens, tokenLimit) - kept.tokens,
    requests: limits.requests - kept.requests,
    batches: limits.batches - kept.batches,
  };
}

/** How a ledger had no room for a lane's next batch. */
export interface NoRoom {
  /** What the store said; `full` where it was not asked, because a limit is used up. */
  readonly reason: Extract<SealResult, { ok: false }>["reason"] | "full";
  /** Of the lane's first request; 0 where nobody asked. */
  readonly headTokens: number;
  /** Batches that take up room: where there are none, room is not what the lane lacks. */
  readonly booked: number;
  readonly minRequests: number;
  /**
   * Most tokens and requests that a usual batch takes of the ledger, and tokens that the largest
   * one may.
   */
  readonly usual: { readonly tokens: number; readonly requests: number };
  readonly mostTokens: number;
  /** What the ledger may hold: told or learned. */
  readonly tokenLimit: number;
}

/**
 * What to keep for a lane on a ledger that had no room for it: a usual batch of it. Null: it lacks
 * something else.
 */
export function roomFor(lane: { readonly ready: number; readonly tokens: number }, no: NoRoom): LedgerLimits | null {
  const isTooSmall = no.reason === "too_few" && lane.ready >= no.minRequests;
  if (no.booked === 0 || !(no.reason === "no_headroom" || no.reason === "full" || isTooSmall)) return null;
  const fewestTokens = isTooSmall ? Math.ceil((lane.tokens / lane.ready) * no.minRequests) : no.headTokens;
  const tokens = Math.max(fewestTokens, Math.min(lane.tokens, no.usual.tokens));
  return {
    tokens: no.tokenLimit < Number.POSITIVE_INFINITY ? Math.min(tokens, no.mostTokens) : 0,
    requests: Math.min(lane.ready, Math.max(no.minRequests, no.usual.requests)),
    batches: 1,
  };
}
