// Equal items share one place: the first of them takes it, the others join while it is looked up, waits or runs. A
// caller who leaves takes only himself; the entry itself leaves with its last caller. With a cache, an item is looked
// up before it takes a place, and equal items wait for the same look-up. An item waits from the end of its look-up on:
// whatever is counted from there keeps the order of a line, and deadlines and latencies still count from the submit.

import { closedError } from "../contract/errors.ts";
import type { BatchCache } from "../contract/options.ts";
import type { FailedOutcome } from "../contract/outcome.ts";
import { isThenable } from "../contract/thenable.ts";
import type { Party, Seating } from "../queue/recipient.ts";
import type { Desk, SharedEntry, Ticket } from "./callers.ts";

export class Shared implements Party, SharedEntry {
  readonly countsItself = true;
  readonly #registry: Registry;
  readonly #scope: string;
  readonly cacheKey: string;
  readonly #callers: Set<Ticket> = new Set();
  #seating: Seating | null = null;
  #index = 0;
  /** Called with every caller who joins from now on. */
  onJoin: ((ticket: Ticket) => void) | null = null;

  constructor(registry: Registry, scope: string, cacheKey: string) {
    this.#registry = registry;
    this.#scope = scope;
    this.cacheKey = cacheKey;
  }

  get callers(): ReadonlySet<Ticket> {
    return this.#callers;
  }

  get isWaiting(): boolean {
    return this.#seating?.holdsWaiting ?? false;
  }

  join(ticket: Ticket): void {
    ticket.shared = this;
    this.#callers.add(ticket);
    this.onJoin?.(ticket);
  }

  detach(ticket: Ticket): void {
    if (!this.#callers.delete(ticket) || this.#callers.size > 0) return;
    this.#registry.forget(this.#scope, this);
    this.#seating?.vacate(this.#index);
  }

  seat(seating: Seating, index: number): void {
    this.#seating = seating;
    this.#index = index;
  }

  succeed(value: unknown, now: number): void {
    this.#registry.forget(this.#scope, this);
    this.#registry.store(this.cacheKey, value);
    this.answer(value, now);
  }

  /** Gives every caller the value, without storing it. */
  answer(value: unknown, now: number): void {
    for (const ticket of this.#takeCallers()) ticket.succeed(value, now);
  }

  fail(error: unknown, outcome: FailedOutcome, now: number): void {
    this.#registry.forget(this.#scope, this);
    for (const ticket of this.#takeCallers()) ticket.fail(error, outcome, now);
  }

  #takeCallers(): Ticket[] {
    const callers = [...this.#callers];
    this.#callers.clear();
    return callers;
  }
}

/** The places that equal items may join, and the cache behind them. */
export class Registry {
  readonly #desk: Desk;
  readonly #cache: BatchCache<unknown> | undefined;
  readonly #byScope: Map<string, Shared> = new Map();
  readonly #lookups: Set<Shared> = new Set();

  constructor(desk: Desk, cache: BatchCache<unknown> | undefined) {
    this.#desk = desk;
    this.#cache = cache;
  }

  /** Places being looked up: they neither wait nor run yet. */
  get lookups(): number {
    return this.#lookups.size;
  }

  find(scope: string): Shared | undefined {
    return this.#byScope.get(scope);
  }

  open(scope: string, cacheKey: string): Shared {
    const shared = new Shared(this, scope, cacheKey);
    this.#byScope.set(scope, shared);
    return shared;
  }

  forget(scope: string, shared: Shared): void {
    this.#lookups.delete(shared);
    if (this.#byScope.get(scope) === shared) this.#byScope.delete(scope);
  }

  /** Answers from the cache, or calls `miss` once it is known that it cannot. Callers may leave in between. */
  lookUp(scope: string, shared: Shared, miss: () => void): void {
    this.#lookups.add(shared);
    const found = (value: unknown): void => {
      if (!this.#lookups.delete(shared)) return;
      this.#found(scope, shared, value, miss);
      this.#desk.left();
    };
    const read = this.#read(shared.cacheKey);
    if (read instanceof Promise) read.catch((error: unknown) => this.#warn(error)).then(found);
    else found(read);
  }

  /** Ends all look-ups with CLOSED. */
  closeLookups(): void {
    const now = this.#desk.clock.now();
    for (const shared of [...this.#lookups]) shared.fail(closedError(), "rejected", now);
  }

  store(key: string, value: unknown): void {
    if (this.#cache === undefined || value === undefined) return;
    try {
      const stored = this.#cache.set(key, value);
      if (isThenable(stored)) Promise.resolve(stored).catch((error: unknown) => this.#warn(error));
    } catch (error) {
      this.#warn(error);
    }
  }

  #read(key: string): unknown {
    try {
      const found = this.#cache?.get(key);
      return isThenable(found) ? Promise.resolve(found) : found;
    } catch (error) {
      return this.#warn(error);
    }
  }

  #found(scope: string, shared: Shared, value: unknown, miss: () => void): void {
    if (value === undefined) {
      miss();
      return;
    }
    this.forget(scope, shared);
    this.#desk.tally.cacheHits += shared.callers.size;
    shared.answer(value, this.#desk.clock.now());
  }

  #warn(error: unknown): undefined {
    this.#desk.events.warn("CACHE_FAILED", "The cache failed; the item counts as not cached.", error);
    return undefined;
  }
}

/** Keeps items of different keys apart: `scope` is unique for the pair. */
export function scopeOf(key: string | undefined, dedupeKey: string): string {
  return key === undefined ? `=${dedupeKey}` : `${key.length}:${key}=${dedupeKey}`;
}
