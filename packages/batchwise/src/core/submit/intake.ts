// The way from a submit to the queue. A plain item needs nothing but its place; any other is read first: its options, the
// user's functions, its deadline and signal. Equal items join; what is looked up or prepared comes in when that is done.

import { BatchwiseError, callTooLargeError, closedError } from "../contract/errors.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import { oneEach } from "../contract/resolve-options.ts";
import { ignoreFailure, isThenable } from "../contract/thenable.ts";
import type { SubmitManyOptions, SubmitOptions } from "../contract/types.ts";
import { aCost, anyNumber } from "../contract/validate.ts";
import { Entry } from "../queue/entry.ts";
import type { Recipient, Resolve } from "../queue/recipient.ts";
import type { Recorder } from "../stats/recorder.ts";
import type { InContext } from "../time/clock.ts";
import type { Turn } from "../time/turn.ts";
import type { Admission } from "./admission.ts";
import { cacheKeyOf } from "./cache.ts";
import { Caller, refuse } from "./callers.ts";
import { type InFlight, type SharedEntry, scopeOf } from "./in-flight.ts";
import type { Pending } from "./pending.ts";
import {
  Aborted,
  checked,
  contextOf,
  costOf,
  dedupeKeyOf,
  keyOf,
  NO_OPTIONS,
  ReadOptions,
  readCallOptions,
  refuseOversize,
  tenantOf,
} from "./read-item.ts";
import type { Services } from "./services.ts";

type PrepareItem = ((item: unknown) => unknown) | undefined;

/** What the intake works with. */
export interface IntakeParts {
  readonly services: Services;
  readonly turn: Turn;
  readonly admission: Admission;
  readonly inFlight: InFlight;
  readonly pending: Pending;
  readonly prepareItem: PrepareItem;
  readonly inContext: InContext;
}

export class Intake {
  readonly #parts: IntakeParts;
  readonly #recorder: Recorder;
  readonly #turn: Turn;
  readonly #admission: Admission;
  #options: ResolvedOptions;
  #isPlain: boolean;
  isClosed = false;

  constructor(parts: IntakeParts, options: ResolvedOptions) {
    this.#parts = parts;
    this.#recorder = parts.services.recorder;
    this.#turn = parts.turn;
    this.#admission = parts.admission;
    this.#options = options;
    this.#isPlain = isPlain(options, parts.prepareItem);
  }

  configure(options: ResolvedOptions): void {
    this.#options = options;
    this.#isPlain = isPlain(options, this.#parts.prepareItem);
  }

  /** Takes an item in. Never throws: what goes wrong goes to the recipient. */
  accept(item: unknown, submit: SubmitOptions | undefined, recipient: Resolve | Recipient): void {
    const { moment } = this.#turn;
    this.#recorder.submitted(1, moment.at);
    const entry = new Entry(item, recipient, 0, moment);
    if (submit === undefined && this.#isPlain && !this.isClosed) this.#admission.accept(entry);
    else this.#acceptRead(entry, submit, this.#options.smallCallFirst >= 1);
  }

  /** Takes the items of one call in. */
  acceptAll(items: readonly unknown[], submit: SubmitManyOptions<unknown> | undefined, call: Recipient): void {
    const { length } = items;
    const { moment } = this.#turn;
    this.#recorder.submitted(length, moment.at);
    const entries = new Array<Entry>(length);
    for (let position = 0; position < length; position += 1) {
      entries[position] = new Entry(items[position], call, position, moment);
    }
    const { onFull, maxQueueSize, dedupe } = this.#options;
    if (onFull === "reject" && length > maxQueueSize && dedupe === undefined && !this.isClosed) {
      for (const entry of entries) this.#refuseCall(entry, length);
    } else if (submit === undefined && this.#isPlain && !this.isClosed) {
      this.#admission.acceptAll(entries);
    } else {
      const isSmall = length <= this.#options.smallCallFirst;
      const ofCall = readOnce(submit);
      for (const entry of entries) this.#acceptOfCall(entry, ofCall, isSmall);
    }
  }

  #refuseCall(entry: Entry, size: number): void {
    refuse(this.#parts.services, entry, callTooLargeError(size, this.#options.maxQueueSize), "rejected");
  }

  /** Takes care that the result of a dedupe key is not given to later submits. Resolves when the cache has deleted it. */
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

  #acceptOfCall(entry: Entry, ofCall: () => CallOptions, isSmall: boolean): void {
    let own: SubmitOptions | undefined;
    try {
      own = this.isClosed ? undefined : optionsOfItem(ofCall(), entry.item);
    } catch (error) {
      refuse(this.#parts.services, entry, error, refusalOf(error));
      return;
    }
    this.#acceptRead(entry, own, isSmall);
  }

  #acceptRead(entry: Entry, submit: SubmitOptions | undefined, isSmall: boolean): void {
    entry.isSmall = isSmall;
    try {
      if (this.isClosed) throw closedError();
      const own = submit === undefined ? NO_OPTIONS : new ReadOptions(submit);
      if (this.#options.dedupe === undefined) this.#acceptOne(entry, own);
      else this.#acceptEqual(entry, own, this.#options.dedupe);
    } catch (error) {
      if (error instanceof Aborted) refuse(this.#parts.services, entry, error.reason, "cancelled");
      else refuse(this.#parts.services, entry, error, refusalOf(error));
    }
  }

  #acceptOne(entry: Entry, own: ReadOptions): void {
    const options = this.#options;
    entry.key = keyOf(entry.item, options, own.key);
    const isPromised = this.#read(entry, own);
    this.#checkStillWanted(own.signal);
    const timeoutMs = own.timeoutMs ?? options.timeoutMs;
    if (isPromised || own.signal !== undefined || timeoutMs !== Number.POSITIVE_INFINITY) {
      const caller = new Caller(this.#parts.services, entry, timeoutMs, own.signal);
      caller.place = entry;
      entry.recipient = caller;
    }
    if (isPromised) this.#awaitItem(entry);
    else this.#admission.accept(entry);
  }

  /** Reads what the queue needs to know of an item; true where its item is a promise of what `prepareItem` makes. */
  #read(entry: Entry, own: ReadOptions): boolean {
    const options = this.#options;
    const { item } = entry;
    entry.cost = own.cost ?? costOf(item, options);
    entry.priority = own.priority;
    entry.tenant = tenantOf(item, options);
    entry.context = own.context === undefined ? contextOf(options) : own.context;
    const { prepareItem } = this.#parts;
    if (prepareItem !== undefined) {
      const prepared = prepareItem(item);
      if (isThenable(prepared)) {
        entry.item = this.#adopt(prepared);
        return true;
      }
      entry.item = prepared;
    }
    this.#refuseOversize(entry);
    return false;
  }

  /** A promise of an item. It may come to nothing before anyone awaits it, or when nobody does. */
  #adopt(prepared: PromiseLike<unknown>): Promise<unknown> {
    const promised = Promise.resolve(prepared);
    this.#parts.inContext(() => ignoreFailure(promised));
    return promised;
  }

  #refuseOversize({ item, cost }: Entry): void {
    if (typeof this.#options.batchCost !== "function") refuseOversize(item, cost, this.#options);
    else this.#parts.inContext(() => refuseOversize(item, cost, this.#options));
  }

  /** Joins the place of an equal item, or opens one: looked up in the cache first, queued on a miss. */
  #acceptEqual(entry: Entry, own: ReadOptions, dedupe: (item: unknown) => string): void {
    const dedupeKey = dedupeKeyOf(dedupe, entry.item);
    entry.key = keyOf(entry.item, this.#options, own.key);
    const scope = scopeOf(entry.key, dedupeKey);
    if (this.#join(entry, scope, own)) return;
    const isPromised = this.#read(entry, own);
    this.#checkStillWanted(own.signal);
    // What was called may have submitted an equal item.
    if (this.#join(entry, scope, own)) return;
    const caller = this.#caller(entry, own);
    const shared = this.#parts.inFlight.open(scope, cacheKeyOf(entry.key, dedupeKey), entry);
    shared.join(caller, entry.priority);
    this.#lookUp(shared, () => {
      if (isPromised) this.#awaitItem(entry);
      else this.#enter(entry);
    });
  }

  #join(entry: Entry, scope: string, own: ReadOptions): boolean {
    const known = this.#parts.inFlight.find(scope);
    if (known === undefined) return false;
    this.#checkStillWanted(own.signal);
    known.join(this.#caller(entry, own), own.priority);
    this.#parts.services.recorder.joined();
    return true;
  }

  #caller(entry: Entry, { timeoutMs, signal }: ReadOptions): Caller {
    return new Caller(this.#parts.services, entry, timeoutMs ?? this.#options.timeoutMs, signal);
  }

  /** Answers from the cache, or calls `miss` once it is known that it cannot. Callers may leave in between. */
  #lookUp(shared: SharedEntry, miss: () => void): void {
    const { inFlight, pending, services } = this.#parts;
    const { entry } = shared;
    if (inFlight.cache === undefined) {
      miss();
      return;
    }
    const found = (value: unknown): void => {
      if (!pending.end(entry)) return;
      if (value === undefined) {
        miss();
        return;
      }
      inFlight.forget(shared);
      services.recorder.foundInCache(shared.size);
      shared.answer(value, services.clock.now());
    };
    pending.start(entry, () => found(undefined));
    const value = inFlight.cache.read(shared.cacheKey);
    if (!(value instanceof Promise)) found(value);
    else this.#parts.inContext(() => value.then(found).then(() => services.changed()));
  }

  /** Queues an entry when `prepareItem` has made its item. */
  #awaitItem(entry: Entry): void {
    const { pending, services, inContext } = this.#parts;
    const settle = (use: () => void): void => {
      if (pending.end(entry)) use();
      services.changed();
    };
    const enter = (item: unknown): void => {
      try {
        entry.item = item;
        this.#refuseOversize(entry);
      } catch (error) {
        refuse(services, entry, error, refusalOf(error));
        return;
      }
      // `batchCost` may have sent the caller away.
      if (entry.recipient !== null) this.#enter(entry);
    };
    pending.start(entry, null);
    const promised = entry.item as Promise<unknown>;
    entry.item = undefined;
    inContext(() => {
      promised.then(
        (item) => settle(() => enter(item)),
        (error: unknown) => settle(() => refuse(services, entry, error, "failed")),
      );
    });
  }

  /** An entry that was pending waits from now on; deadlines and latencies still count from the submit. */
  #enter(entry: Entry): void {
    entry.moment = this.#turn.moment;
    this.#admission.accept(entry);
  }

  /** The user's functions have been called: they may have closed the batcher or aborted the signal. */
  #checkStillWanted(signal: AbortSignal | undefined): void {
    if (this.isClosed) throw closedError();
    if (signal?.aborted) throw new Aborted(signal.reason);
  }
}

type CallOptions = SubmitManyOptions<unknown> | undefined;

/** Reads the options of a call. What comes back gives every item what was read, or throws what reading threw. */
function readOnce(submit: CallOptions): () => CallOptions {
  try {
    const options = readCallOptions(submit);
    return () => options;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** What the options of a call say of one item. */
function optionsOfItem(options: CallOptions, item: unknown): SubmitOptions | undefined {
  if (options === undefined) return undefined;
  const { signal, timeoutMs, key, context, cost, priority } = options;
  return {
    signal,
    timeoutMs,
    key,
    context,
    cost: typeof cost === "function" ? checked("cost", aCost, cost(item)) : cost,
    priority: typeof priority === "function" ? checked("priority", anyNumber, priority(item)) : priority,
  };
}

/** True when no option asks for more of an item than its place. */
function isPlain(options: ResolvedOptions, prepareItem: PrepareItem): boolean {
  const functions = [options.key, options.dedupe, options.captureContext, options.fairBy, prepareItem];
  return (
    functions.every((option) => option === undefined) &&
    options.cost === oneEach &&
    options.maxBatchCost === Number.POSITIVE_INFINITY &&
    options.timeoutMs === Number.POSITIVE_INFINITY &&
    options.smallCallFirst === 0
  );
}

/** CLOSED and ITEM_TOO_LARGE are the batcher's refusals; everything else thrown on the way in is a user function's failure. */
function refusalOf(error: unknown): "rejected" | "failed" {
  const isOurs = error instanceof BatchwiseError && (error.code === "CLOSED" || error.code === "ITEM_TOO_LARGE");
  return isOurs ? "rejected" : "failed";
}
