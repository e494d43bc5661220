// Ranks the accounts for a batch by free capacity and weight. Leaves out paused accounts and those
// whose ledger is blocked. Reserves nothing: the store does, in the sealing transaction.
// Pure.

import { ledgerName } from "../batches/life-cycle.ts";
import type { Account } from "../contract/account.ts";
import type { LedgerLimits, LedgerRow } from "../contract/store/ledger-rows.ts";
import type { LaneName } from "../format/encode.ts";
import { learnedLimit } from "./learned-limit.ts";

/** The facts about an account that `rankAccounts` needs. */
export type AccountCandidate = Pick<Account, "name" | "capabilities" | "models" | "weight">;

export interface AccountChoice<A extends AccountCandidate = AccountCandidate> {
  readonly account: A;
  readonly ledger: string;
  readonly limits: LedgerLimits;
  /** Maximum tokens on the ledger: the provider's limit, or the learned one. */
  readonly tokenLimit: number;
  /** It has reached a limit. */
  readonly isFull: boolean;
}

/** True if the account serves this endpoint and model. */
export function serves(account: AccountCandidate, lane: Pick<LaneName, "endpoint" | "model">): boolean {
  if (!account.capabilities.endpoints.includes(lane.endpoint)) return false;
  return account.models === null || account.models.includes(lane.model);
}

/**
 * The accounts of a lane's requests: first choice, and second choice for requests that no first
 * choice accepts.
 */
export interface Serving<A> {
  readonly first: readonly A[];
  readonly second: readonly A[];
}

/**
 * Fallback accounts come second. They come first for urgent lanes, and count as ordinary if there
 * are no others.
 */
export function servingOf<A extends AccountCandidate>(
  accounts: readonly A[],
  lane: Pick<LaneName, "endpoint" | "model" | "urgent">,
): Serving<A> {
  const all = accounts.filter((account) => serves(account, lane));
  const fallback = all.filter(({ capabilities }) => capabilities.fallback === true);
  const others = all.filter(({ capabilities }) => capabilities.fallback !== true);
  if (others.length === 0 || fallback.length === 0) return { first: all, second: [] };
  return lane.urgent ? { first: fallback, second: others } : { first: others, second: fallback };
}

/** The fewest requests that one of the accounts takes in a batch. */
export function fewestOf(accounts: readonly AccountCandidate[]): number {
  return Math.min(...accounts.map(({ capabilities }) => Math.max(1, capabilities.limits.minRequests)));
}

/**
 * The accounts for a lane that are not paused, best first: lowest used share of its limits relative
 * to its weight; among equal ones, fewest tokens in flight relative to its weight.
 */
export function rankAccounts<A extends AccountCandidate>(
  accounts: readonly A[],
  lane: Pick<LaneName, "endpoint" | "model">,
  ledgers: ReadonlyMap<string, LedgerRow>,
  now: number,
): AccountChoice<A>[] {
  const usable: (AccountChoice<A> & { readonly used: number; readonly load: number })[] = [];
  for (const account of accounts) {
    if (!serves(account, lane)) continue;
    const { ledgerScope, limits } = account.capabilities;
    const name = ledgerName(account.name, ledgerScope, lane.model);
    const ledger = ledgers.get(name);
    if (isBlocked(ledger, now) || isBlocked(ledgers.get(account.name), now)) continue;
    const tokenLimit = Math.min(limits.maxEnqueuedTokens, learnedLimit(ledger ?? null, now));
    const used = usedShare(ledger, { ...limits, maxEnqueuedTokens: tokenLimit });
    usable.push({
      account,
      ledger: name,
      limits: {
        tokens: limits.maxEnqueuedTokens,
        requests: limits.maxEnqueuedRequests,
        batches: limits.maxEnqueuedBatches,
      },
      tokenLimit,
      isFull: used >= 1,
      used: used / account.weight,
      load: (ledger?.tokens ?? 0) / account.weight,
    });
  }
  return usable.sort((a, b) => a.used - b.used || a.load - b.load);
}

/**
 * Maximum tokens of one batch: half of a known limit, so that a second batch can be in flight and a
 * refused one costs less. A request too large for that half gets the whole.
 */
export function batchTokens(hardCap: number, tokenLimit: number): { readonly first: number; readonly most: number } {
  const most = Math.min(hardCap, tokenLimit);
  return { first: Number.isFinite(tokenLimit) ? Math.min(most, Math.ceil(tokenLimit / 2)) : most, most };
}

function isBlocked(ledger: LedgerRow | undefined, now: number): boolean {
  return ledger !== undefined && ledger.blockedUntil > now;
}

/** The largest used share of any finite limit; 0 if there is none. */
function usedShare(ledger: LedgerRow | undefined, limits: AccountCandidate["capabilities"]["limits"]): number {
  const used = (booked: number, limit: number): number => (Number.isFinite(limit) ? booked / limit : 0);
  return Math.max(
    used(ledger?.tokens ?? 0, limits.maxEnqueuedTokens),
    used(ledger?.requests ?? 0, limits.maxEnqueuedRequests),
    used(ledger?.batches ?? 0, limits.maxEnqueuedBatches),
  );
}
