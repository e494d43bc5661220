// Decides whether what is left of a lane is a tail: requests that no account will take, because
// they are fewer than each account's minimum for a batch. Pure. A lane that only waits for room,
// for a pause to end or for retries is none.

import type { SealResult } from "../../contract/store.ts";

/** What one account answered when it was to take the lane's requests. */
export interface SealRefusal {
  readonly account: string;
  readonly reason: Extract<SealResult, { ok: false }>["reason"];
  readonly minRequests: number;
  /** Batches booked on the ledger: when these end there is more room. */
  readonly booked: number;
}

export interface Tail {
  /** The account with the lowest minimum, and that minimum. */
  readonly account: string;
  readonly minRequests: number;
}

type Left = { readonly ready: number; readonly deferredUntil: number | null };

/**
 * True where none of the accounts will take what the lane has now. `serving`: how many there are;
 * those that were not asked are paused or full, and may take it later.
 */
export function isLeft(lane: Left, serving: number, refusals: readonly SealRefusal[]): boolean {
  if (refusals.length < serving || lane.deferredUntil !== null) return false;
  return refusals.every(
    ({ reason, minRequests, booked }) =>
      reason === "head_too_large" || (reason === "too_few" && (lane.ready < minRequests || booked === 0)),
  );
}

/** As above. Null for no tail, and for one request that is too large for all. */
export function tailOf(lane: Left, serving: number, refusals: readonly SealRefusal[]): Tail | null {
  const tooFew = refusals.filter(({ reason }) => reason === "too_few");
  const [least] = tooFew.toSorted((a, b) => a.minRequests - b.minRequests);
  if (least === undefined || !isLeft(lane, serving, refusals)) return null;
  return { account: least.account, minRequests: least.minRequests };
}
