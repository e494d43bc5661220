// Ranks the accounts that may take a batch, by free capacity and weight. Pure. Leaves out an
// account that is paused, or whose ledger is blocked or full. It reserves nothing: the store does,
// in the sealing transaction.

import type { Account } from "../../contract/account.ts";
import type { LedgerLimits, LedgerRow } from "../../contract/rows.ts";
import type { LaneName } from "../../format/encode.ts";
import { ledgerName } from "../batch/life-cycle.ts";
import { learnedLimit } from "./learned-limit.ts";

/** What `rankAccounts` needs to know of an account. */
export type AccountCandidate = Pick<Account, "name" | "capabilities" | "models" | "weight">;

export interface AccountChoice<A extends AccountCandidate = AccountCandidate> {
  readonly account: A;
  readonly ledger: string;
  readonly limits: LedgerLimits;
  /** Most tokens that the ledger may hold: the provider's limit, or what was learned about it. */
  readonly tokenLimit: number;
}

/** True where the account takes requests of this endpoint and model. */
export function serves(account: AccountCandidate, lane: Pick<LaneName, "endpoint" | "model">): boolean {
  if (!account.capabilities.endpoints.includes(lane.endpoint)) return false;
  return account.models === null || account.models.includes(lane.model);
}

/** The accounts that a lane's requests go to, and those that take what these leave. */
export interface Serving<A> {
  readonly first: readonly A[];
  readonly second: readonly A[];
}

/**
 * Fallback accounts come second; first for urgent lanes; as any other where there are no others.
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

/**
 * The accounts to try for a lane, best first: the one that uses the least of its limits for its
 * weight, and, where limits do not tell them apart, the one with the fewest tokens in flight for
 * its weight.
 */
export function rankAccounts<A extends AccountCandidate>(
  accounts: readonly A[],
  lane: Pick<LaneName, "endpoint" | "model">,
  ledgers: ReadonlyMap<string, LedgerRow>,
  now: number,
): AccountChoice<A>[] {
  const ranked = usable(accounts, lane, ledgers, now).filter(({ used }) => used < 1);
  return ranked
    .map((one) => ({ ...one, used: one.used / one.account.weight }))
    .sort((a, b) => a.used - b.used || a.load - b.load);
}

/** Those that serve the lane and are not paused, but have a limit that is used up. */
export function fullAccounts<A extends AccountCandidate>(
  accounts: readonly A[],
  lane: Pick<LaneName, "endpoint" | "model">,
  ledgers: ReadonlyMap<string, LedgerRow>,
  now: number,
): AccountChoice<A>[] {
  return usable(accounts, lane, ledgers, now).filter(({ used }) => used >= 1);
}

type Weighed<A extends AccountCandidate> = AccountChoice<A> & { readonly used: number; readonly load: number };

function usable<A extends AccountCandidate>(
  accounts: readonly A[],
  lane: Pick<LaneName, "endpoint" | "model">,
  ledgers: ReadonlyMap<string, LedgerRow>,
  now: number,
): Weighed<A>[] {
  const usable: Weighed<A>[] = [];
  for (const account of accounts) {
    if (!serves(account, lane)) continue;
    const { ledgerScope, limits } = account.capabilities;
    const name = ledgerName(account.name, ledgerScope, lane.model);
    const ledger = ledgers.get(name);
    if (isBlocked(ledger, now) || isBlocked(ledgers.get(account.name), now)) continue;
    const tokenLimit = Math.min(limits.maxEnqueuedTokens, learnedLimit(ledger ?? null, now));
    usable.push({
      account,
      ledger: name,
      limits: {
        tokens: limits.maxEnqueuedTokens,
        requests: limits.maxEnqueuedRequests,
        batches: limits.maxEnqueuedBatches,
      },
      tokenLimit,
      used: usedShare(ledger, { ...limits, maxEnqueuedTokens: tokenLimit }),
      load: (ledger?.tokens ?? 0) / account.weight,
    });
  }
  return usable;
}

/**
 * Most tokens for one batch. Half of a known limit, so that a second batch can be in flight while
 * the first runs and a refused one costs less; a request too large for that half gets the whole.
 */
export function batchTokens(hardCap: number, tokenLimit: number): { readonly first: number; readonly most: number } {
  const most = Math.min(hardCap, tokenLimit);
  return { first: Number.isFinite(tokenLimit) ? Math.min(most, Math.ceil(tokenLimit / 2)) : most, most };
}

function isBlocked(ledger: LedgerRow | undefined, now: number): boolean {
  return ledger !== undefined && ledger.blockedUntil > now;
}

/** The largest used share over the limits that are finite; 0 where there is none. */
function usedShare(ledger: LedgerRow | undefined, limits: AccountCandidate["capabilities"]["limits"]): number {
  const used = (booked: number, limit: number): number => (Number.isFinite(limit) ? booked / limit : 0);
  return Math.max(
    used(ledger?.tokens ?? 0, limits.maxEnqueuedTokens),
    used(ledger?.requests ?? 0, limits.maxEnqueuedRequests),
    used(ledger?.batches ?? 0, limits.maxEnqueuedBatches),
  );
}
