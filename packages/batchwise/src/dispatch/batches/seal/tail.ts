// Decides whether the rest of a lane is a tail: requests that no account accepts, because they are
// fewer than each account's minimum. A lane that only waits for capacity, for a pause to end or for
// retries is no tail, and neither is one that waits for money. Pure.

import type { NoRoom } from "./shared-ledger.ts";

/** One account's refusal of the lane's requests; `full` for one that was not asked. */
export interface SealRefusal extends Pick<NoRoom, "reason" | "minRequests" | "booked"> {
  readonly account: string;
}

export interface Tail {
  /** The account with the lowest minimum, and that minimum. */
  readonly account: string;
  readonly minRequests: number;
}

type Left = { readonly ready: number; readonly deferredUntil: number | null };

/**
 * True if no account accepts the lane's current requests. `serving`: the number of accounts; those
 * without a refusal are paused and may accept them later. A full account counts as a refusal.
 */
export function isLeft(lane: Left, serving: number, refusals: readonly SealRefusal[]): boolean {
  if (refusals.length < serving || lane.deferredUntil !== null) return false;
  return refusals.every(({ reason, minRequests, booked }) => {
    if (reason === "head_too_large") return true;
    if (reason === "price_limit") return booked === 0;
    return reason === "too_few" && (lane.ready < minRequests || booked === 0);
  });
}

/**
 * True if the lane waits only for money: no account accepts as few requests as its payers can pay.
 * `serving`: all accounts of the lane, with their minima.
 */
export function lacksMoney(
  serving: readonly { readonly name: string; readonly minRequests: number }[],
  refusals: readonly SealRefusal[],
): boolean {
  const unpaid = refusals.filter(({ reason }) => reason === "price_limit");
  if (unpaid.length === 0) return false;
  const least = Math.min(...unpaid.map(({ minRequests }) => minRequests));
  const never = refusals.filter(({ reason }) => reason === "too_few" || reason === "head_too_large");
  // An account that was not tried may still accept fewer.
  return serving.every(
    ({ name, minRequests }) => minRequests >= least || never.some(({ account }) => account === name),
  );
}

/** The tail; null if there is none, and for one request that is too large for all accounts. */
export function tailOf(lane: Left, serving: number, refusals: readonly SealRefusal[]): Tail | null {
  const tooFew = refusals.filter(({ reason }) => reason === "too_few");
  const [least] = tooFew.toSorted((a, b) => a.minRequests - b.minRequests);
  if (least === undefined || !isLeft(lane, serving, refusals)) return null;
  return { account: least.account, minRequests: least.minRequests };
}
