// The reservations on each limit of a provider, and the learned limit. The reservations are the
// batches' own figures; this class only adds them up.

import type { LedgerChanges, LedgerLimits, LedgerRow } from "../../contract/store/ledger-rows.ts";
import type { Headroom } from "../../contract/store/refusal.ts";
import type { MemoryBatch } from "./records.ts";

type Learned = Omit<LedgerRow, "name" | "tokens" | "requests" | "batches">;

export class Ledgers {
  readonly #learned = new Map<string, Learned>();
  readonly #booked = new Map<string, Set<MemoryBatch>>();

  /**
   * Sets the given fields and keeps the others; creates a missing ledger. False if the ledger's
   * pause is neither the one that the change names nor the one that it sets.
   */
  write({ name, ifBlockedUntil, blockedAtLeast = 0, ...changes }: LedgerChanges): boolean {
    const fresh = { learnedTokens: null, learnedAt: null, blockedUntil: 0, strikes: 0, note: null, outage: null };
    const before = this.#learned.get(name) ?? fresh;
    if (ifBlockedUntil !== undefined && ifBlockedUntil !== before.blockedUntil) {
      return changes.blockedUntil === before.blockedUntil;
    }
    const blockedUntil = Math.max(before.blockedUntil, blockedAtLeast);
    this.#learned.set(name, { ...before, blockedUntil, ...changes });
    return true;
  }

  book(batch: MemoryBatch): void {
    const booked = this.#booked.get(batch.ledger) ?? new Set();
    this.#booked.set(batch.ledger, booked.add(batch));
    this.write({ name: batch.ledger });
  }

  /** Drops a released batch that will not be read again. */
  forget(batch: MemoryBatch): void {
    this.#booked.get(batch.ledger)?.delete(batch);
  }

  hasten(after: number, now: number): void {
    for (const [name, { blockedUntil }] of this.#learned) {
      if (blockedUntil > after) this.write({ name, blockedUntil: now });
    }
    for (const batch of [...this.#booked.values()].flatMap((booked) => [...booked])) {
      if (batch.releaseAt > after && batch.releaseAt < Infinity) batch.releaseAt = now;
    }
  }

  left(name: string, limits: LedgerLimits, now: number): Headroom {
    const { tokens, requests, batches } = this.#sums(name, now);
    return {
      ...{ tokens: limits.tokens - tokens, requests: limits.requests - requests, batches: limits.batches - batches },
      blocked: (this.#learned.get(name)?.blockedUntil ?? 0) > now,
    };
  }

  rows(now: number): LedgerRow[] {
    return [...this.#learned].map(([name, learned]) => ({ name, ...this.#sums(name, now), ...learned }));
  }

  #sums(name: string, now: number): LedgerLimits {
    let [tokens, requests, batches] = [0, 0, 0];
    for (const batch of this.#booked.get(name) ?? []) {
      // A batch that is done and released never counts again.
      if (batch.releaseAt <= now && batch.state === "done") this.#booked.get(name)?.delete(batch);
      if (batch.releaseAt <= now) continue;
      tokens += batch.tokens;
      requests += batch.requests;
      batches += 1;
    }
    return { tokens, requests, batches };
  }
}
