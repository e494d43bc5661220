// Predicts when accounts accept batches and how long these take, by recently ended ones. Reads them
// from the store at most once a minute, and only for requests with deadlines that a fallback
// account also serves.

import { opensAt, type Prospect } from "../accounts/deadlines.ts";
import { opennessOf, type Pauses } from "../accounts/pauses.ts";
import type { Account } from "../contract/account.ts";
import type { LedgerRow } from "../contract/store/ledger-rows.ts";
import type { LaneRow } from "../contract/store/probe.ts";
import type { BatchRow } from "../contract/store/rows.ts";
import type { Store } from "../contract/store/store.ts";
import type { LaneRef } from "../contract/types.ts";
import { type LaneName, parseLane } from "../format/encode.ts";
import type { SteadyClock } from "./steady-clock.ts";

/** Number of an account's ended batches to read. */
const LOOKED_AT = 20;
const KNOWN_FOR_MS = 60_000;
const UNKNOWN_FOR_MS = 1_000;
const WINDOW_MS = 86_400_000;

/** In ms: the longest run of a batch at the account's provider. */
export function windowMsOf({ capabilities }: Pick<Account, "capabilities">): number {
  return capabilities.completionWindowMs ?? WINDOW_MS;
}

interface Turnaround {
  readonly ms: number | null;
  /** On the monotonic clock. */
  readonly until: number;
}

export class Prospects {
  readonly #store: Store;
  readonly #clock: SteadyClock;
  readonly #turnarounds: Map<string, Turnaround> = new Map();
  /** Requests in urgent lanes, by endpoint and model: they get the next probe. */
  #urgent: Map<string, number> = new Map();

  constructor(store: Store, clock: SteadyClock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Call with the lanes of each probe of the store. */
  beginTurn(lanes: readonly LaneRow[]): void {
    this.#urgent = new Map();
    for (const { lane, ready } of lanes) this.moved(lane, ready);
  }

  /** Call when this many requests have been moved to the lane. Only urgent lanes count. */
  moved(lane: string, requests: number): void {
    const name = parseLane(lane);
    if (name.urgent) this.#urgent.set(placeOf(name), this.#urgentOf(name) + requests);
  }

  #urgentOf(lane: LaneRef): number {
    return this.#urgent.get(placeOf(lane)) ?? 0;
  }

  /**
   * An unknown batch time counts as the longest; at fallback accounts as none, as they promise.
   * Only a fallback account is open for a probe of the lane.
   */
  async of(
    accounts: readonly Account[],
    lane: LaneName,
    ledgers: ReadonlyMap<string, LedgerRow>,
    pauses: Pauses,
    areFallback: boolean,
  ): Promise<Prospect[]> {
    const turnarounds = await Promise.all(accounts.map(({ name }) => this.#turnaround(name)));
    const now = this.#clock.now();
    return accounts.map((account, index) => {
      const known = turnarounds[index] ?? null;
      const openness = opennessOf(pauses, { ...lane, account: account.name }, now);
      const isOpen = openness === "open" || (areFallback && openness === "probe");
      const least = Math.max(1, account.capabilities.limits.minRequests);
      const probed = openness === "probe" ? Math.max(0, least - this.#urgentOf(lane)) : 0;
      return {
        opensAt: isOpen ? opensAt(account, lane, ledgers, now) : Number.POSITIVE_INFINITY,
        turnaroundMs: known ?? (areFallback ? 0 : windowMsOf(account)),
        isKnown: known !== null,
        takes: openness === "open" ? Number.POSITIVE_INFINITY : probed,
      };
    });
  }

  async #turnaround(account: string): Promise<number | null> {
    const clock = this.#clock;
    const kept = this.#turnarounds.get(account);
    if (kept !== undefined && kept.until > clock.monotonic()) return kept.ms;
    const ms = turnaroundOf(await this.#store.batches({ account, states: ["done"], limit: LOOKED_AT }));
    const until = clock.monotonic() + (ms === null ? UNKNOWN_FOR_MS : KNOWN_FOR_MS);
    this.#turnarounds.set(account, { ms, until });
    return ms;
  }
}

function placeOf({ endpoint, model }: LaneRef): string {
  return `${endpoint} ${model}`;
}

/** The share of batches that took longer than the estimate. */
const SLOWER = 0.1;

/**
 * Estimates an account's batch time from its recent batches, from the create to the last result. In
 * ms; null until a batch of the account has ended with results.
 */
export function turnaroundOf(ended: readonly BatchRow[]): number | null {
  const spans = ended
    .filter(({ providerBatchId, disposal, submitStartedAt }) => {
      return providerBatchId !== null && disposal === null && submitStartedAt !== null;
    })
    .map(({ updatedAt, submitStartedAt }) => Math.max(0, updatedAt - (submitStartedAt ?? updatedAt)))
    .sort((a, b) => a - b);
  return spans[Math.ceil(spans.length * (1 - SLOWER)) - 1] ?? null;
}
