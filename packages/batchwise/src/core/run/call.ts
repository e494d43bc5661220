// One call of the handler, for all entries of a batch or for those that are left: its stages, its
// time limit and its answer. It settles each caller on its own; to the batch it reports only that
// all have their answers, or that it failed as a whole. An answer after its end is too late.

import { batchResultError, handlerTimeoutError, resultLength } from "../contract/errors.ts";
import type { BatchWatch } from "../contract/observer.ts";
import { isThenable } from "../contract/thenable.ts";
import { itemsOf } from "../policy/batch-cost.ts";
import type { Entry } from "../queue/entry.ts";
import { countsItself, succeed } from "../submit/callers.ts";
import type { CallingBatch } from "../submit/self-calls.ts";
import { countItems, type Services } from "../submit/services.ts";
import { Timeout } from "../time/deadlines.ts";
import { CallContext, type ShownBatch } from "./call-context.ts";
import { arrivalOf, failEntries, ignorePlaces, readPlace } from "./places.ts";

/** The batch of a call. */
export interface CalledBatch extends CallingBatch, ShownBatch {
  /** The observer's watch; null if there is none. */
  readonly watch: BatchWatch | null;
  /** Gives the slot back, if there is one, before the batch has ended. */
  releaseSlot(): void;
  /** `count` callers have been answered. */
  noteSettled(count: number): void;
  /** The call is over: all of its callers have their answers. */
  answered(now: number): void;
  /** The call is over: it failed as a whole. */
  refused(error: unknown): void;
  /** The call is over: it took longer than `handlerTimeoutMs`. */
  timedOut(error: unknown): void;
}

export class Call {
  readonly #batch: CalledBatch;
  readonly #services: Services;
  #entries: readonly Entry[];
  /** What the handler sees of it. Null once it is over. */
  context: CallContext | null;
  /** When it began. Waiting for a slot within it does not count. */
  #calledAt: number;
  /** True once it has reached the handler's `run`. */
  #hasRun = false;
  /** Number of promises in its answer that have not settled. */
  #awaited = 0;
  #limit: Timeout | null = null;
  #grant: (() => void) | null = null;

  constructor(batch: CalledBatch, entries: readonly Entry[], cost: number, now: number, services: Services) {
    this.#batch = batch;
    this.#services = services;
    this.#entries = entries;
    this.context = new CallContext(batch, entries, cost);
    this.#calledAt = now;
  }

  /** Calls the handler, and settles the callers when it answers. */
  make(): void {
    if (this.#batch.holdsSlot) this.#armLimit();
    const { context } = this;
    if (context === null) return;
    let places: unknown;
    try {
      places = this.#ask(context);
      if (isThenable(places)) {
        Promise.resolve(places).then(
          (late) => this.answer(late),
          (error: unknown) => this.#fail(error),
        );
        return;
      }
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.answer(places);
  }

  #ask(context: CallContext): unknown {
    const services = this.#services;
    const { prepare, run, finish } = services.stages;
    const { watch } = this.#batch;
    const items = itemsOf(this.#entries);
    this.#hasRun = prepare === undefined && finish === undefined;
    const handler = this.#hasRun ? run : () => this.#runStages(items, context);
    const ask = (): unknown => services.selfCalls.call(this.#batch, handler, items, context);
    return watch === null ? ask() : watch.around(ask);
  }

  /** Runs the stages of a handler with more than `run`. Only `run` and later stages hold a slot. */
  async #runStages(items: unknown[], context: CallContext): Promise<unknown> {
    const { options, stages } = this.#services;
    const { prepare, run, finish } = stages;
    const input = prepare === undefined ? items : await prepare(items, context);
    if (!CallContext.isAborted(context)) await this.#slot();
    if (CallContext.isAborted(context)) throw context.signal.reason;
    this.#hasRun = true;
    const output = await run(input, context);
    if (finish === undefined || this.context === null) return output;
    // With `prefetch`, a batch finishes without its slot, unless the handler may be called again
    // for it.
    const { prefetch, retry, isolateFailures } = options;
    if (prefetch > 0 && retry === undefined && !isolateFailures) this.#batch.releaseSlot();
    return finish(output, context);
  }

  /** Resolves when the batch has a slot; undefined if it has one. */
  #slot(): Promise<void> | undefined {
    if (this.#batch.holdsSlot) return undefined;
    const { clock } = this.#services;
    const preparedAt = clock.now();
    return new Promise((resolve) => {
      this.#grant = () => {
        this.#calledAt += clock.now() - preparedAt;
        resolve();
      };
    });
  }

  /** Call when the batch has got the slot that the call waits for, or will wait for. */
  granted(): void {
    this.#armLimit();
    this.#grant?.();
  }

  #armLimit(): void {
    const services = this.#services;
    const { handlerTimeoutMs } = services.options;
    if (handlerTimeoutMs === Infinity) return;
    this.#limit ??= new Timeout(services.deadlines);
    this.#limit.start(handlerTimeoutMs, () =>
      this.#batch.timedOut(handlerTimeoutError(services.name, handlerTimeoutMs, this.#entries.length)),
    );
  }

  /** How long it has taken; undefined if it was called off before the handler's `run`. */
  durationMs(now: number): number | undefined {
    const isAborted = this.context !== null && CallContext.isAborted(this.context);
    return isAborted && !this.#hasRun ? undefined : now - this.#calledAt;
  }

  /** Lets go of the callers: a handler that never answers holds the call for ever. */
  end(): void {
    this.#limit?.clear();
    // The handler may continue, so it keeps its requests before their entries are forgotten.
    if (this.context !== null && this.#services.options.dedupe !== undefined) CallContext.keepRequests(this.context);
    this.context = null;
    this.#entries = [];
  }

  #fail(error: unknown): void {
    if (this.context !== null) this.#batch.refused(error);
  }

  #arrived(now: number): void {
    if (this.context !== null) this.#batch.answered(now);
  }

  /** Settles the callers with the handler's answer, unless its shape is wrong. */
  answer(places: unknown): void {
    const services = this.#services;
    const entries = this.#entries;
    if (this.context === null) {
      ignorePlaces(places);
    } else if (resultLength(places) !== entries.length) {
      ignorePlaces(places);
      this.#fail(batchResultError(services.name, places, entries.length));
    } else {
      const now = services.clock.now();
      this.#settle(entries, places as ArrayLike<unknown>, now);
      if (this.#awaited === 0) this.#arrived(now);
    }
  }

  /**
   * Settles the callers; those whose place holds a promise, when it does. `now`: the time of the
   * answer.
   */
  #settle(entries: readonly Entry[], places: ArrayLike<unknown>, now: number): void {
    const services = this.#services;
    // Completed callers of one moment are counted together.
    let { moment } = entries[0] as Entry;
    let completed = 0;
    for (let index = 0; index < entries.length; index += 1) {
      const entry = entries[index] as Entry;
      let place: unknown;
      try {
        place = readPlace(places, index, services);
        if (isThenable(place)) {
          this.#await(entry, place);
          continue;
        }
      } catch (error) {
        this.#count(completed, now - moment.at);
        completed = 0;
        failEntries([entry], error, "failed", this.#batch, services, now);
        continue;
      }
      // Reading a place may have called user code that made the caller leave.
      const { recipient } = entry;
      if (recipient === null) continue;
      entry.recipient = null;
      if (entry.moment !== moment) {
        this.#count(completed, now - moment.at);
        completed = 0;
        ({ moment } = entry);
      }
      if (countsItself(recipient)) this.#batch.noteSettled(1);
      else completed += 1;
      succeed(recipient, place, now, entry.position);
    }
    this.#count(completed, now - moment.at);
  }

  #count(completed: number, latencyMs: number): void {
    if (completed === 0) return;
    this.#batch.noteSettled(completed);
    countItems(this.#services, "completed", latencyMs, completed);
  }

  /**
   * Awaits a promise even if its caller has left: its work continues, and its rejection must be
   * handled.
   */
  #await(entry: Entry, place: PromiseLike<unknown>): void {
    arrivalOf(place).then(
      (value) => this.#settleLate(entry, value, false),
      (error: unknown) => this.#settleLate(entry, error, true),
    );
    this.#awaited += 1;
  }

  #settleLate(entry: Entry, value: unknown, isFailure: boolean): void {
    const services = this.#services;
    const now = services.clock.now();
    const { recipient } = entry;
    if (isFailure) {
      failEntries([entry], value, "failed", this.#batch, services, now);
    } else if (recipient !== null) {
      entry.recipient = null;
      this.#batch.noteSettled(1);
      if (!countsItself(recipient)) countItems(services, "completed", now - entry.moment.at);
      succeed(recipient, value, now, entry.position);
    }
    this.#awaited -= 1;
    if (this.#awaited === 0) this.#arrived(now);
  }
}
