// Equal items share one place: the first of them takes it, the others join while it is looked up, waits or runs. A
// caller who leaves takes only himself; the entry itself leaves with its last caller.

import type { FailedOutcome } from "../contract/outcome.ts";
import type { Entry } from "../queue/entry.ts";
import type { Recipient } from "../queue/recipient.ts";
import { cacheKeyOf, type ResultCache } from "./cache.ts";
import type { Caller, CallerPlace } from "./callers.ts";

export class SharedEntry implements Recipient, CallerPlace {
  readonly countsItself = true;
  readonly scope: string;
  readonly cacheKey: string;
  readonly entry: Entry;
  readonly #inFlight: InFlight;
  readonly #callers: Set<Caller> = new Set();
  /** The earliest deadline of its callers: with the last of them the entry expires, but it is due for the first. */
  dueAt: number = Infinity;
  /** False after `forget`: the result of a run that began before is not stored. */
  isStored = true;

  constructor(inFlight: InFlight, scope: string, cacheKey: string, entry: Entry) {
    this.#inFlight = inFlight;
    this.scope = scope;
    this.cacheKey = cacheKey;
    this.entry = entry;
    entry.recipient = this;
  }

  get size(): number {
    return this.#callers.size;
  }

  /** An urgent caller makes the entry urgent. */
  join(caller: Caller, priority: number): void {
    caller.place = this;
    this.#callers.add(caller);
    const { entry } = this;
    if (caller.dueAt < this.dueAt) {
      this.dueAt = caller.dueAt;
      entry.holder?.noteDeadline(entry);
    }
    if (entry.holder !== null) entry.holder.raise(entry, priority);
    else if (priority > entry.priority) entry.priority = priority;
  }

  callerLeft(caller: Caller): void {
    if (!this.#callers.delete(caller)) return;
    if (this.#callers.size === 0) {
      this.#inFlight.forget(this);
      this.entry.leave();
    } else if (caller.dueAt === this.dueAt) {
      this.dueAt = Infinity;
      for (const { dueAt } of this.#callers) this.dueAt = Math.min(this.dueAt, dueAt);
      this.entry.holder?.noteDeadline(this.entry);
    }
  }

  succeed(value: unknown, now: number): void {
    this.#inFlight.forget(this);
    if (this.isStored) this.#inFlight.cache?.store(this.cacheKey, value);
    this.answer(value, now);
  }

  /** Gives every caller the value, without storing it. */
  answer(value: unknown, now: number): void {
    for (const caller of this.#takeCallers()) caller.succeed(value, now);
  }

  fail(error: unknown, outcome: FailedOutcome, now: number): void {
    this.#inFlight.forget(this);
    for (const caller of this.#takeCallers()) caller.fail(error, outcome, now);
  }

  #takeCallers(): Caller[] {
    const callers = [...this.#callers];
    this.#callers.clear();
    return callers;
  }
}

/** Unique for the pair of a lane's key and a dedupe key, also where only some items have a key. */
export function scopeOf(key: string | undefined, dedupeKey: string): string {
  return key === undefined ? `=${dedupeKey}` : cacheKeyOf(key, dedupeKey);
}

/** The places that equal items may join. */
export class InFlight {
  readonly cache: ResultCache | undefined;
  #byScope: Map<string, SharedEntry> | null = null;

  constructor(cache: ResultCache | undefined) {
    this.cache = cache;
  }

  find(scope: string): SharedEntry | undefined {
    return this.#byScope?.get(scope);
  }

  open(scope: string, cacheKey: string, entry: Entry): SharedEntry {
    const shared = new SharedEntry(this, scope, cacheKey, entry);
    this.#byScope ??= new Map();
    this.#byScope.set(scope, shared);
    return shared;
  }

  /** Nobody may join it any more. */
  forget(shared: SharedEntry): void {
    if (this.#byScope?.get(shared.scope) === shared) this.#byScope.delete(shared.scope);
  }
}
