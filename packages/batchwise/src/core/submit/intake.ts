// The path from a submit to the queue. A plain item is queued directly. Any other is read first:
// its options, the user's functions, its deadline and signal. Equal items join; items that are
// looked up or prepared are queued later.

import { closedError, deadlineError, type itemTooLargeError } from "../contract/errors.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import { oneEach } from "../contract/resolve-options.ts";
import { isThenable } from "../contract/thenable.ts";
import type { SubmitOptions } from "../contract/types.ts";
import { Entry } from "../queue/entry.ts";
import type { Resolve } from "../queue/recipient.ts";
import type { Recorder } from "../stats/recorder.ts";
import type { Turn } from "../time/turn.ts";
import { reasonOf } from "./abort-signals.ts";
import type { Admission } from "./admission.ts";
import { cacheKeyOf } from "./cache.ts";
import { type Call, Caller, refusalOf, refuse } from "./callers.ts";
import { scopeOf } from "./in-flight.ts";
import { isLargeCall, largeCallRefusal, type ReadDedupeKey, readDedupeKeys, readOnce } from "./large-calls.ts";
import { LateEntries, type LateParts } from "./late-entries.ts";
import {
  type CallOptions,
  dedupeKeyOf,
  Gone,
  optionsOfItem,
  ownCost,
  readCallOptions,
  readItem,
  readKey,
  readSubmit,
} from "./read-item.ts";
import type { SelfCalls } from "./self-calls.ts";

type PrepareItem = ((item: unknown) => unknown) | undefined;

/** Dependencies of the intake. */
export interface IntakeParts extends LateParts {
  readonly selfCalls: SelfCalls;
  readonly prepareItem: PrepareItem;
  readonly tooLargeError: typeof itemTooLargeError;
}

export class Intake {
  readonly #parts: IntakeParts;
  readonly #recorder: Recorder;
  readonly #turn: Turn;
  readonly #admission: Admission;
  readonly #late: LateEntries;
  readonly #selfCalls: SelfCalls;
  #options: ResolvedOptions;
  #isClosed = false;
  /** True while items need only a place. */
  #isPlain: boolean;
  #hasTimeout: boolean;

  constructor(parts: IntakeParts, options: ResolvedOptions) {
    this.#parts = parts;
    this.#recorder = parts.services.recorder;
    this.#turn = parts.services.turn;
    this.#selfCalls = parts.selfCalls;
    this.#admission = parts.admission;
    this.#late = new LateEntries(parts, (entry) => this.#refuseOversize(entry));
    this.#options = options;
    this.#isPlain = isPlain(options, parts.prepareItem);
    this.#hasTimeout = options.timeoutMs < Infinity;
  }

  configure(options: ResolvedOptions): void {
    this.#options = options;
    this.#selfCalls.configure(options);
    this.observerChanged();
  }

  /** Call when the observer changes. Its captured values are read for each item. */
  observerChanged(): void {
    const captures = this.#parts.services.observer?.capture !== undefined;
    this.#isPlain = !this.#isClosed && !captures && isPlain(this.#options, this.#parts.prepareItem);
  }

  /** Rejects all later submits. */
  close(): void {
    this.#isClosed = true;
    this.#isPlain = false;
  }

  /** Accepts an item. Never throws: errors go to the recipient. */
  accept(item: unknown, submit: SubmitOptions | undefined, recipient: Resolve): void {
    const isFirst = !this.#turn.isOpen;
    const { moment } = this.#turn;
    this.#recorder.submitted(1, moment);
    const entry = new Entry(item, recipient, moment, 0);
    if (isFirst || this.#selfCalls.isWatching) this.#selfCalls.note(entry);
    if (submit === undefined && this.#isPlain) this.#admission.acceptPlain(entry);
    else this.#acceptRead(entry, submit, this.#options.smallCallFirst >= 1, undefined);
  }

  /**
   * Accepts the items of one call. Reads all before accepting any: a getter may submit or change
   * the array. Throws what reading an item throws.
   */
  acceptAll(items: readonly unknown[], submit: CallOptions, call: Call): void {
    const length = call.size;
    const isFirst = !this.#turn.isOpen;
    const { moment } = this.#turn;
    const entries = new Array<Entry>(length);
    for (let position = 0; position < length; position += 1) {
      entries[position] = new Entry(items[position], call, moment, position);
    }
    if (isFirst || this.#selfCalls.isWatching) this.#selfCalls.note(entries[length - 1] as Entry);
    // A getter may have flushed.
    if (this.#turn.moment !== moment) for (const entry of entries) entry.moment = this.#turn.moment;
    this.#recorder.submitted(length, moment);
    const keys = this.#mayBeTooLarge(length) ? readDedupeKeys(entries, this.#options) : null;
    if (this.#mayBeTooLarge(length) && this.#refuseTooLarge(entries, keys)) return;
    if (submit === undefined && this.#isPlain) {
      this.#admission.acceptAll(entries);
      return;
    }
    const ofCall = readOnce(() => readCallOptions(submit));
    const isSmall = length <= this.#options.smallCallFirst;
    for (const [index, entry] of entries.entries()) this.#acceptOfCall(entry, ofCall, isSmall, keys?.[index]);
  }

  /** True for a large call, unless a cache may have its items. */
  #mayBeTooLarge(length: number): boolean {
    const hasCache = this.#options.dedupe !== undefined && this.#parts.inFlight.cache !== undefined;
    return isLargeCall(length, this.#options) && !this.#isClosed && !hasCache;
  }

  /**
   * Refuses a whole call that can never fit; returns false if it may: equal items share places,
   * also those in flight.
   */
  #refuseTooLarge(entries: readonly Entry[], keys: readonly ReadDedupeKey[] | null): boolean {
    const joinable = keys === null ? 0 : this.#parts.inFlight.size;
    const { maxQueueSize } = this.#options;
    const limits = { name: this.#parts.services.name, maxQueueSize };
    const refusal = largeCallRefusal(entries.length, keys, joinable, limits);
    if (refusal === null) return false;
    for (const entry of entries) this.#refuse(entry, refusal(), "rejected");
    return true;
  }

  /** Invalidates the cached result of a key. Resolves when the cache has deleted it. */
  async forget(dedupeKey: string, key: string | undefined): Promise<void> {
    const { inFlight, pending } = this.#parts;
    inFlight.cache?.checkDeletes();
    const shared = inFlight.find(scopeOf(key, dedupeKey));
    if (shared !== undefined) {
      if (pending.has(shared.entry)) {
        pending.skip(shared.entry);
      } else if (!shared.entry.isWaiting) {
        shared.isStored = false;
        inFlight.forget(shared);
      }
    }
    await inFlight.cache?.delete(cacheKeyOf(key, dedupeKey));
  }

  #acceptOfCall(entry: Entry, ofCall: () => CallOptions, isSmall: boolean, dedupeKey: ReadDedupeKey | undefined): void {
    let own: SubmitOptions | undefined;
    try {
      own = this.#isClosed ? undefined : optionsOfItem(ofCall(), entry.item);
    } catch (error) {
      this.#refuse(entry, error);
      return;
    }
    this.#acceptRead(entry, own, isSmall, dedupeKey);
  }

  /** `dedupeKey`: given if it has been read already. */
  #acceptRead(
    entry: Entry,
    submit: SubmitOptions | undefined,
    isSmall: boolean,
    dedupeKey: ReadDedupeKey | undefined,
  ): void {
    const { dedupe } = this.#options;
    try {
      if (this.#isClosed) throw closedError(this.#parts.services.name);
      readSubmit(submit, entry);
      this.#checkHasTime(entry);
      if (isSmall) entry.ownFacts.isSmall = true;
      if (dedupe === undefined) this.#acceptOne(entry);
      else this.#acceptEqual(entry, dedupeKey === undefined ? dedupeKeyOf(dedupe, entry.item) : dedupeKey());
    } catch (error) {
      this.#refuse(entry, error);
    }
  }

  /**
   * Throws for an item without time left: it might be packed before the next check of deadlines.
   */
  #checkHasTime({ facts: { timeoutMs = Infinity } }: Entry): void {
    if (timeoutMs <= 0) throw new Gone(deadlineError(this.#parts.services.name, timeoutMs), "expired");
  }

  #refuse(entry: Entry, error: unknown, outcome = refusalOf(error)): void {
    if (Gone.is(error)) refuse(this.#parts.services, entry, error.reason, error.outcome);
    else refuse(this.#parts.services, entry, error, outcome);
  }

  #acceptOne(entry: Entry): void {
    readKey(entry, this.#options);
    const isPromised = this.#read(entry);
    const { signal, timeoutMs } = entry.facts;
    this.#checkStillWanted(entry);
    if (isPromised || this.#hasTimeout || signal !== undefined || timeoutMs !== undefined) {
      const caller = this.#caller(entry);
      caller.place = entry;
      entry.recipient = caller;
    }
    if (isPromised) this.#late.awaitItem(entry);
    else this.#admission.accept(entry);
  }

  /**
   * Reads the facts that the queue needs. Returns true if the entry's item is now a promise of
   * `prepareItem`.
   */
  #read(entry: Entry): boolean {
    readItem(entry, this.#options);
    this.#capture(entry);
    const { prepareItem } = this.#parts;
    if (prepareItem !== undefined) {
      const prepared = prepareItem(entry.item);
      if (isThenable(prepared)) {
        this.#late.adopt(entry, prepared);
        return true;
      }
      entry.item = prepared;
    }
    this.#refuseOversize(entry);
    return false;
  }

  /** Throws ITEM_TOO_LARGE for a single item over the cap, unless it may run alone. */
  #refuseOversize({ item, cost: given }: Entry): void {
    const { maxBatchCost, batchCost, oversize } = this.#options;
    const isMeasured = typeof batchCost === "function" && maxBatchCost < Infinity;
    const cost = isMeasured ? this.#ownCost(item, batchCost) : given;
    if (cost > maxBatchCost && oversize === "reject")
      throw this.#parts.tooLargeError(this.#parts.services.name, cost, maxBatchCost);
  }

  #ownCost(item: unknown, batchCost: (items: readonly unknown[]) => number): number {
    let cost = 0;
    this.#parts.inContext(() => {
      cost = ownCost(item, batchCost);
    });
    return cost;
  }

  /**
   * Joins the place of an equal item, or creates one: first looked up in the cache, queued on a
   * miss.
   */
  #acceptEqual(entry: Entry, dedupeKey: string): void {
    readKey(entry, this.#options);
    const { key } = entry;
    const scope = scopeOf(key, dedupeKey);
    if (this.#join(entry, scope)) return;
    const isPromised = this.#read(entry);
    this.#checkStillWanted(entry);
    // A called function may have submitted an equal item.
    if (this.#join(entry, scope)) return;
    const caller = this.#caller(entry);
    const shared = this.#parts.inFlight.open(scope, cacheKeyOf(key, dedupeKey), entry);
    shared.join(caller, entry.priority);
    this.#late.lookUp(shared, () => {
      if (isPromised) this.#late.awaitItem(entry);
      else this.#admission.accept(entry);
    });
  }

  #join(entry: Entry, scope: string): boolean {
    const known = this.#parts.inFlight.find(scope);
    if (known === undefined) return false;
    this.#checkStillWanted(entry);
    known.join(this.#caller(entry), entry.priority);
    this.#capture(known.entry);
    this.#selfCalls.joined(entry, known.entry);
    this.#recorder.joined();
    this.#parts.services.observer?.spared("dedupe", 1);
    return true;
  }

  /** Adds the current caller to those of an entry, for the observer. */
  #capture(entry: Entry): void {
    const { observer } = this.#parts.services;
    if (observer?.capture !== undefined) entry.ownFacts.captured = observer.capture(entry.facts.captured);
  }

  /**
   * From here on the caller holds the signal; the entry would keep it after the caller has left.
   */
  #caller(entry: Entry): Caller {
    const { timeoutMs = this.#options.timeoutMs, signal } = entry.facts;
    entry.facts.signal = undefined;
    return new Caller(this.#parts.services, entry, timeoutMs, signal);
  }

  /** Throws if the user's functions have closed the batcher or aborted the signal. */
  #checkStillWanted({ facts: { signal } }: Entry): void {
    if (this.#isClosed) throw closedError(this.#parts.services.name);
    if (signal?.aborted) throw new Gone(reasonOf(signal), "cancelled");
  }
}

/** True if no option needs more of an item than its place. */
function isPlain(options: ResolvedOptions, prepareItem: PrepareItem): boolean {
  const functions = [options.key, options.dedupe, options.captureContext, options.fairBy, prepareItem];
  return (
    functions.every((option) => option === undefined) &&
    options.cost === oneEach &&
    options.maxBatchCost === Infinity &&
    !options.learnsBatchCost &&
    options.timeoutMs === Infinity &&
    options.smallCallFirst === 0
  );
}
