// Equal items share one place: the first takes it, the others join while it is looked up, waits or
// runs. A caller leaves only for itself; the entry leaves with its last caller. The result goes to
// the cache.

import type { FailedOutcome } from "../contract/outcome.ts";
import type { Entry, Urgency } from "../queue/entry.ts";
import type { Recipient } from "../queue/recipient.ts";
import { Earliest } from "../time/earliest.ts";
import { cacheKeyOf, type ResultCache } from "./cache.ts";
import { Caller, type CallerPlace, type Patience } from "./callers.ts";
import { capture, dedupeKeyOf } from "./read-item.ts";
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
      this.#inFlight.remove(this);
      entry.leave(caller.dueAt);
    } else {
      entry.holder?.update(entry, entry);
    }
  }

  succeed(value: unknown, now: number): void {
    this.#inFlight.remove(this);
    if (this.isStored) this.#inFlight.cache?.store(this.cacheKey, value);
    this.answer(value, now);
  }

  /** Answers every caller with the value, without storing it. */
  answer(value: unknown, now: number): void {
    for (const caller of this.#takeCallers()) caller.succeed(value, now);
  }

  fail(error: unknown, outcome: FailedOutcome, now: number): void {
    this.#inFlight.remove(this);
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

/** The places that equal items may join. */
export class InFlight {
  readonly #services: Services;
  readonly #dedupe: (item: unknown) => string;
  readonly cache: ResultCache | null;
  readonly #byScope: Map<string, SharedEntry> = new Map();

  constructor(services: Services, dedupe: (item: unknown) => string, cache: ResultCache | null) {
    this.#services = services;
    this.#dedupe = dedupe;
    this.cache = cache;
  }

  /** The dedupe key of an item. Throws INVALID_OPTION. */
  keyOf(item: unknown): string {
    return dedupeKeyOf(this.#dedupe, item);
  }

  get size(): number {
    return this.#byScope.size;
  }

  /** The place of an equal item; undefined if there is none. */
  find(key: string | undefined, dedupeKey: string): SharedEntry | undefined {
    return this.#byScope.get(scopeOf(key, dedupeKey));
  }

  /** Opens a place for an item that is the first of its kind. */
  open(entry: Entry, dedupeKey: string): SharedEntry {
    const { key } = entry;
    const shared = new SharedEntry(this, scopeOf(key, dedupeKey), cacheKeyOf(key, dedupeKey), entry);
    this.#byScope.set(shared.scope, shared);
    return shared;
  }

  /**
   * Opens a place with its first caller. Answers it from the cache, or calls `miss`, also when the
   * look-up is skipped. Callers may leave in between.
   */
  share(entry: Entry, dedupeKey: string, patience: Patience, miss: () => void): void {
    const caller = new Caller(this.#services, entry, patience);
    const shared = this.open(entry, dedupeKey);
    shared.join(caller, entry);
    if (this.cache === null) miss();
    else this.#lookUp(shared, this.cache, miss);
  }

  /** Adds the caller of an equal item. */
  join(shared: SharedEntry, entry: Entry, patience: Patience): void {
    const { selfCalls, recorder, observer } = this.#services;
    shared.join(new Caller(this.#services, entry, patience), entry);
    capture(shared.entry, observer);
    selfCalls.joined(entry, shared.entry);
    recorder.joined();
    observer?.spared("dedupe", 1);
  }

  #lookUp(shared: SharedEntry, cache: ResultCache, miss: () => void): void {
    const services = this.#services;
    const { pending } = services;
    const { entry } = shared;
    const skip = (): void => found(undefined);
    const found = (value: unknown): void => {
      if (!pending.end(entry, skip)) return;
      if (cache.isMiss(value)) {
        miss();
        return;
      }
      this.remove(shared);
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
  remove(shared: SharedEntry): void {
    if (this.#byScope.get(shared.scope) === shared) this.#byScope.delete(shared.scope);
  }

  /** Invalidates the cached result of a key. Resolves when the cache has deleted it. */
  async forget(dedupeKey: string, key: string | undefined): Promise<void> {
    this.cache?.checkDeletes();
    const shared = this.find(key, dedupeKey);
    const { pending } = this.#services;
    if (shared !== undefined) {
      if (pending.has(shared.entry)) {
        pending.skip(shared.entry);
      } else if (!shared.entry.isWaiting) {
        shared.isStored = false;
        this.remove(shared);
      }
    }
    await this.cache?.delete(cacheKeyOf(key, dedupeKey));
  }
}
