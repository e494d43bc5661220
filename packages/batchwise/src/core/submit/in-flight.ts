// Equal items share one place: the first takes it, the others join while it is looked up, waits or
// runs. A caller leaves only for itself; the entry leaves with its last caller. The result goes to
// the cache.

import type { FailedOutcome } from "../contract/outcome.ts";
import type { Entry, Urgency } from "../queue/entry.ts";
import type { Recipient } from "../queue/recipient.ts";
import { Earliest } from "../time/earliest.ts";
import { cacheKeyOf, type ResultCache } from "./cache.ts";
import type { Caller, CallerPlace } from "./callers.ts";
import type { Pending } from "./pending.ts";
import type { Services } from "./services.ts";

export class SharedEntry implements Recipient, CallerPlace {
  readonly countsItself = true;
  readonly scope: string;
  readonly cacheKey: string;
  readonly entry: Entry;
  readonly #inFlight: InFlight;
  readonly #callers: Set<Caller> = new Set();
  /** Created with the first deadline. */
  #deadlines: Earliest<Caller> | null = null;
  /** False after `forget`: the result of an earlier run is not stored. */
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

  /**
   * The earliest deadline of its callers. The entry expires with the last one, but is due for the
   * first.
   */
  get dueAt(): number {
    return this.#deadlines?.dueAt ?? Infinity;
  }

  get isAborted(): boolean {
    return [...this.#callers].some((caller) => caller.isAborted);
  }

  /** Adds a caller. Raises the entry to the urgency of the caller's submit. */
  join(caller: Caller, submit: Urgency): void {
    caller.place = this;
    const { entry } = this;
    this.#callers.add(caller);
    if (caller.dueAt < Infinity) {
      this.#deadlines ??= new Earliest();
      this.#deadlines.set(caller, caller.dueAt);
    }
    if (entry.holder !== null) entry.holder.update(entry, submit);
    else entry.raise(submit);
  }

  callerLeft(caller: Caller): void {
    const { entry } = this;
    if (!this.#callers.delete(caller)) return;
    this.#deadlines?.remove(caller);
    if (this.#callers.size === 0) {
      this.#inFlight.forget(this);
      entry.leave(caller.dueAt);
    } else {
      entry.holder?.update(entry, entry);
    }
  }

  succeed(value: unknown, now: number): void {
    this.#inFlight.forget(this);
    if (this.isStored) this.#inFlight.cache?.store(this.cacheKey, value);
    this.answer(value, now);
  }

  /** Answers every caller with the value, without storing it. */
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
    this.#deadlines = null;
    return callers;
  }
}

/** A key that is unique for a lane's key and a dedupe key, also if only some items have a key. */
export function scopeOf(key: string | undefined, dedupeKey: string): string {
  return key === undefined ? `=${dedupeKey}` : cacheKeyOf(key, dedupeKey);
}

/** The places that equal items may join. None is opened without `dedupe`. */
export class InFlight {
  readonly cache: ResultCache | undefined;
  readonly #byScope: Map<string, SharedEntry> = new Map();

  constructor(cache: ResultCache | undefined) {
    this.cache = cache;
  }

  get size(): number {
    return this.#byScope.size;
  }

  find(scope: string): SharedEntry | undefined {
    return this.#byScope.get(scope);
  }

  open(scope: string, cacheKey: string, entry: Entry): SharedEntry {
    const shared = new SharedEntry(this, scope, cacheKey, entry);
    this.#byScope.set(scope, shared);
    return shared;
  }

  /**
   * Answers a place from the cache, or calls `miss`, also when the look-up is skipped. Callers may
   * leave in between.
   */
  lookUp(shared: SharedEntry, pending: Pending, services: Services, miss: () => void): void {
    const { cache } = this;
    const { entry } = shared;
    if (cache === undefined) {
      miss();
      return;
    }
    const skip = (): void => found(undefined);
    const found = (value: unknown): void => {
      if (!pending.end(entry, skip)) return;
      if (cache.isMiss(value)) {
        miss();
        return;
      }
      this.forget(shared);
      services.recorder.foundInCache(shared.size);
      services.observer?.spared("cache", shared.size);
      shared.answer(value, services.clock.now());
    };
    pending.start(entry, skip);
    const value = cache.read(shared.cacheKey);
    if (!(value instanceof Promise)) found(value);
    else services.inContext(() => value.then(found).then(() => services.turn.lookAgain()));
  }

  /** Removes a place, so that no caller joins it. */
  forget(shared: SharedEntry): void {
    if (this.#byScope.get(shared.scope) === shared) this.#byScope.delete(shared.scope);
  }
}
