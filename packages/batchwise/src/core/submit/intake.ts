// The path from a submit to the queue. A plain item is queued directly. Any other is read first:
// its options, the user's functions, its deadline and signal. Equal items join; items that are
// looked up or prepared are queued later.

import { callTooLargeError, closedError, deadlineError, type itemTooLargeError } from "../contract/errors.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import { oneEach } from "../contract/resolve-options.ts";
import { follow, ignoreFailure, isThenable } from "../contract/thenable.ts";
import type { SubmitOptions } from "../contract/types.ts";
import { Entry } from "../queue/entry.ts";
import type { Recipient, Resolve } from "../queue/recipient.ts";
import type { Recorder } from "../stats/recorder.ts";
import type { Moment, Turn } from "../time/turn.ts";
import { reasonOf } from "./abort-signals.ts";
import type { Admission } from "./admission.ts";
import { ResultCache } from "./cache.ts";
import { Caller, PATIENT, type Patience, refusalOf, refuse } from "./callers.ts";
import { InFlight } from "./in-flight.ts";
import {
  type CallOptions,
  capture,
  countDifferent,
  optionsOfItem,
  ownCost,
  type ReadDedupeKey,
  readCallOptions,
  readCost,
  readItem,
  readKey,
  readOnce,
  readSubmit,
} from "./read-item.ts";
import type { SelfCalls } from "./self-calls.ts";
import type { Services } from "./services.ts";

/** The call of an item: its options, and the dedupe keys that were read before. */
interface ReadCall {
  readonly size: number;
  readonly options: () => CallOptions;
  readonly keys: readonly ReadDedupeKey[] | null;
}

export class Intake {
  readonly #services: Services;
  // Services that each item needs.
  readonly #turn: Turn;
  readonly #selfCalls: SelfCalls;
  /** Made with the first submit. */
  #recorder: Recorder | null = null;
  readonly #admission: Admission;
  /** Null without `dedupe`. */
  readonly #inFlight: InFlight | null;
  readonly #tooLargeError: typeof itemTooLargeError;
  isClosed = false;
  /** True while nothing but the cost of an item is read. */
  #needsCostOnly = false;
  /** True while nothing of an item is read. */
  #isPlain = false;

  constructor(services: Services, admission: Admission, tooLargeError: typeof itemTooLargeError) {
    const { dedupe, cache } = services.options;
    const results = cache === undefined ? null : new ResultCache(cache, services.events, services.inContext);
    this.#services = services;
    this.#turn = services.turn;
    this.#selfCalls = services.selfCalls;
    this.#admission = admission;
    this.#inFlight = dedupe === undefined ? null : new InFlight(services, dedupe, results);
    this.#tooLargeError = tooLargeError;
    this.configure();
  }

  /** Call when the options or the observer change. */
  configure(): void {
    this.#needsCostOnly = !this.isClosed && needsCostOnly(this.#services);
    this.#isPlain = this.#needsCostOnly && costsOne(this.#services.options);
    this.#admission.endRoom();
  }

  /** Rejects all later submits. */
  close(): void {
    this.isClosed = true;
    this.configure();
  }

  /** Accepts an item. Never throws: errors go to the recipient. */
  accept(item: unknown, submit: SubmitOptions | undefined, recipient: Resolve): void {
    const isFirst = !this.#turn.isOpen;
    const { moment } = this.#turn;
    this.#submitted(1, moment);
    const entry = new Entry(item, recipient, moment, 0);
    if (isFirst || this.#selfCalls.isWatching) this.#selfCalls.note(entry);
    if (submit === undefined && this.#isPlain) this.#admission.accept(entry);
    else this.#accept(entry, submit, null);
  }

  /**
   * Accepts the items of one call. Reads all before accepting any: a getter may submit or change
   * the array. Throws what reading an item throws.
   */
  acceptAll(items: readonly unknown[], submit: CallOptions, call: Recipient & { readonly size: number }): void {
    const length = call.size;
    const turn = this.#turn;
    const isFirst = !turn.isOpen;
    const { moment } = turn;
    const entries = new Array<Entry>(length);
    for (let position = 0; position < length; position += 1) {
      entries[position] = new Entry(items[position], call, moment, position);
    }
    if (isFirst || this.#selfCalls.isWatching) this.#selfCalls.note(entries[length - 1] as Entry);
    // A getter may have flushed.
    if (turn.moment !== moment) for (const entry of entries) entry.moment = turn.moment;
    this.#submitted(length, moment);
    const keys = this.#refuseTooLarge(entries);
    if (keys === undefined) return;
    if (submit === undefined && this.#isPlain) {
      this.#admission.acceptAll(entries);
      return;
    }
    const read = { size: length, options: readOnce(() => readCallOptions(submit)), keys };
    for (const entry of entries) this.#accept(entry, undefined, read);
  }

  #submitted(count: number, moment: Moment): void {
    this.#recorder ??= this.#services.recorder;
    this.#recorder.submitted(count, moment);
  }

  /**
   * Refuses a call of more items than the queue can hold, unless a cache may have them, or equal
   * items (in flight ones too) share places. Returns undefined if it refused the call, else the
   * dedupe keys that it read; null for none. Reading a key may close the batcher.
   */
  #refuseTooLarge(entries: readonly Entry[]): readonly ReadDedupeKey[] | null | undefined {
    const { name, options } = this.#services;
    const { onFull, maxQueueSize } = options;
    const inFlight = this.#inFlight;
    const isLarge = onFull === "reject" && entries.length > maxQueueSize;
    if (!isLarge || this.isClosed || inFlight?.cache) return null;
    const keys = inFlight && entries.map(({ item }) => readOnce(() => inFlight.keyOf(item)));
    const size = keys === null ? entries.length : countDifferent(keys);
    if (size <= maxQueueSize + (inFlight?.size ?? 0) || this.isClosed) return keys;
    const what = keys === null ? "items" : "different items";
    for (const entry of entries) {
      refuse(this.#services, entry, callTooLargeError(name, size, what, maxQueueSize), "rejected");
    }
    return undefined;
  }

  async forget(dedupeKey: string, key: string | undefined): Promise<void> {
    await this.#inFlight?.forget(dedupeKey, key);
  }

  /** Reads an item and its options. Queues it, or joins it to an equal one. */
  #accept(entry: Entry, submit: SubmitOptions | undefined, call: ReadCall | null): void {
    if (this.#isOver(entry, PATIENT)) return;
    try {
      const patience = readSubmit(call === null ? submit : optionsOfItem(call.options(), entry.item), entry);
      if (patience === PATIENT && this.#needsCostOnly) this.#acceptCosted(entry);
      else this.#acceptAny(entry, patience, call);
    } catch (error) {
      this.#refuse(entry, error);
    }
  }

  /** The same for an item of which only its cost is read. */
  #acceptCosted(entry: Entry): void {
    readCost(entry, this.#services.options);
    this.#refuseOversize(entry);
    // The cost function may have closed the batcher.
    if (!this.#isOver(entry, PATIENT)) this.#admit(entry);
  }

  #acceptAny(entry: Entry, patience: Patience, call: ReadCall | null): void {
    if (this.#isOver(entry, patience)) return;
    const { options } = this.#services;
    const inFlight = this.#inFlight;
    if ((call?.size ?? 1) <= options.smallCallFirst) entry.ownFacts.isSmall = true;
    const dedupeKey = inFlight === null ? "" : (call?.keys?.[entry.position]?.() ?? inFlight.keyOf(entry.item));
    readKey(entry, options);
    if (this.#join(entry, dedupeKey, patience)) return;
    const promised = this.#read(entry);
    // The user's functions may have closed the batcher, or submitted an equal item.
    if (this.#isOver(entry, patience) || this.#join(entry, dedupeKey, patience)) return;
    if (inFlight === null) this.#enterAlone(entry, patience, promised);
    else inFlight.share(entry, dedupeKey, patience, () => this.#enter(entry, promised));
  }

  #refuse(entry: Entry, error: unknown): void {
    refuse(this.#services, entry, error, refusalOf(error));
  }

  /**
   * Refuses an item if the batcher is closed, or its signal has aborted, or its deadline was not
   * after its submit: it might be packed before the next check of deadlines. Returns whether it
   * did.
   */
  #isOver(entry: Entry, { signal, timeoutMs = Infinity }: Patience): boolean {
    const services = this.#services;
    if (this.isClosed) refuse(services, entry, closedError(services.name), "rejected");
    else if (signal?.aborted) refuse(services, entry, reasonOf(signal), "cancelled");
    else if (timeoutMs <= 0) refuse(services, entry, deadlineError(services.name, timeoutMs), "expired");
    else return false;
    return true;
  }

  /** Queues an entry of its own. A caller who may leave gets an object for it. */
  #enterAlone(entry: Entry, patience: Patience, promised: Promise<unknown> | null): void {
    if (patience !== PATIENT || promised !== null || this.#services.options.timeoutMs < Infinity) {
      const caller = new Caller(this.#services, entry, patience);
      caller.place = entry;
      entry.recipient = caller;
    }
    this.#enter(entry, promised);
  }

  /** Reads the facts that the queue needs. Returns the promise of `prepareItem`, if it is one. */
  #read(entry: Entry): Promise<unknown> | null {
    const { options, stages } = this.#services;
    readItem(entry, options);
    capture(entry, this.#services.observer);
    const promised = stages.prepareItem === undefined ? null : this.#prepare(entry, stages.prepareItem);
    if (promised === null) this.#refuseOversize(entry);
    return promised;
  }

  #prepare(entry: Entry, prepareItem: (item: unknown) => unknown): Promise<unknown> | null {
    const prepared = prepareItem(entry.item);
    entry.item = undefined;
    if (!isThenable(prepared)) {
      entry.item = prepared;
      return null;
    }
    // A custom `then` may throw, and it may reject before it is awaited.
    const promised = this.#services.inContext(() => follow(prepared));
    ignoreFailure(promised);
    return promised;
  }

  /** Queues an entry, after the promise of its item has resolved if there is one. */
  #enter(entry: Entry, promised: Promise<unknown> | null): void {
    if (promised === null) this.#admit(entry);
    else this.#enterLater(entry, promised);
  }

  #enterLater(entry: Entry, promised: Promise<unknown>): void {
    const { inContext } = this.#services;
    const settle = (use: () => void): void => {
      if (this.#services.pending.end(entry, null)) use();
      this.#turn.lookAgain();
    };
    this.#services.pending.start(entry, null);
    inContext(() => {
      promised.then(
        (item) => settle(() => this.#enterPrepared(entry, item)),
        (error: unknown) => settle(() => refuse(this.#services, entry, error, "failed")),
      );
    });
  }

  #enterPrepared(entry: Entry, item: unknown): void {
    entry.item = item;
    try {
      this.#refuseOversize(entry);
    } catch (error) {
      this.#refuse(entry, error);
      return;
    }
    // `batchCost` may have made the caller leave.
    if (entry.recipient !== null) this.#admit(entry);
  }

  /** Gives the entry a new moment, because a user's function may have flushed since its submit. */
  #admit(entry: Entry): void {
    entry.moment = this.#turn.moment;
    this.#admission.accept(entry);
  }

  /** Throws ITEM_TOO_LARGE for an item over the cap, unless it may run in a batch of its own. */
  #refuseOversize({ item, cost: given }: Entry): void {
    const { maxBatchCost, batchCost, oversize } = this.#services.options;
    if (maxBatchCost === Infinity) return;
    const cost = typeof batchCost === "function" ? this.#ownCost(item, batchCost) : given;
    if (cost > maxBatchCost && oversize === "reject")
      throw this.#tooLargeError(this.#services.name, cost, maxBatchCost);
  }

  #ownCost(item: unknown, batchCost: (items: readonly unknown[]) => number): number {
    return this.#services.inContext(() => ownCost(item, batchCost));
  }

  /** Joins the place of an equal item. Returns false if there is none. */
  #join(entry: Entry, dedupeKey: string, patience: Patience): boolean {
    const shared = this.#inFlight?.find(entry.key, dedupeKey);
    if (shared === undefined) return false;
    if (!this.#isOver(entry, patience)) this.#inFlight?.join(shared, entry, patience);
    return true;
  }
}

/** True if no option or observer needs more of an item than its cost and a place. */
function needsCostOnly({ options, observer, stages: { prepareItem } }: Services): boolean {
  const { key, dedupe, captureContext, fairBy, timeoutMs, smallCallFirst } = options;
  const functions = [key, dedupe, captureContext, fairBy, prepareItem, observer?.capture];
  return functions.every((option) => option === undefined) && timeoutMs === Infinity && smallCallFirst === 0;
}

/** True if each item costs 1, whatever it is. */
function costsOne({ cost, maxBatchCost, learnsBatchCost }: ResolvedOptions): boolean {
  return cost === oneEach && maxBatchCost === Infinity && !learnsBatchCost;
}
