// Decides how lanes share one limit of a provider. A lane whose next batch does not fit begins to
// wait, and a part of the limit is kept for the lane that has waited longest. Ending batches free
// it bit by bit, and no other lane takes it meanwhile. The others share the rest, so one large
// request blocks none. Pure.

import type { SealResult } from "../../contract/store/calls.ts";
import type { LedgerLimits } from "../../contract/store/ledger-rows.ts";

/** A lane that waits for capacity, and the amount to keep for it on each ledger that had none. */
export interface WaitingLane {
  readonly lane: string;
  /** The turn in which it began to wait. */
  readonly since: number;
  readonly kept: ReadonlyMap<string, LedgerLimits>;
}

const NOTHING: LedgerLimits = { tokens: 0, requests: 0, batches: 0 };

/**
 * The amount that the lane must leave on a ledger: the part kept for the longest waiting lane,
 * unless it is that lane.
 */
export function keptFrom(lane: string, ledger: string, waiting: Iterable<WaitingLane>): LedgerLimits {
  let first: WaitingLane | null = null;
  for (const each of waiting) {
    if (each.kept.has(ledger) && (first === null || each.since < first.since)) first = each;
  }
  return first === null || first.lane === lane ? NOTHING : (first.kept.get(ledger) ?? NOTHING);
}

/**
 * The limits of a ledger without the kept part. `tokenLimit`: the lower token limit, given or
 * learned.
 */
export function limitsWithout(kept: LedgerLimits, limits: LedgerLimits, tokenLimit: number): LedgerLimits {
  return {
    tokens: Math.min(limits.tokens, tokenLimit) - kept.tokens,
    requests: limits.requests - kept.requests,
    batches: limits.batches - kept.batches,
  };
}

/** Why an account did not take a lane's next batch, as its ledger shows. */
export interface NoRoom {
  readonly ledger: string;
  /** The store's answer; `full` if a limit is known to be reached. */
  readonly reason: Extract<SealResult, { ok: false }>["reason"] | "full";
  /** Tokens of the lane's first request; 0 if unknown. */
  readonly headTokens: number;
  /** Batches on the ledger. If there are none, the lane does not lack capacity. */
  readonly booked: number;
  readonly minRequests: number;
  /** Maximum tokens and requests of a usual batch on the ledger, and tokens of the largest one. */
  readonly usual: { readonly tokens: number; readonly requests: number };
  readonly mostTokens: number;
  /** The ledger's limit, given or learned. */
  readonly tokenLimit: number;
}

/**
 * The amount to keep for a lane on such a ledger: one usual batch. Null if it lacks something else.
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
