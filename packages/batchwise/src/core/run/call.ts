// One call of the handler, for all entries of a batch or the remaining ones: its stages, its time
// limit and its answer. The handler gets the call itself, as its context. It settles each caller on
// its own; to the batch it reports only that all have their answers, or that it failed as a whole.
// An answer after its end is too late.

import { batchResultError, handlerTimeoutError, resultLength } from "../contract/errors.ts";
import type { RunningBatch } from "../contract/events.ts";
import type { BatchWatch } from "../contract/observer.ts";
import type { BatchReason } from "../contract/outcome.ts";
import { isThenable } from "../contract/thenable.ts";
import type { BatchContext, BatchRequest } from "../contract/types.ts";
import { itemsOf } from "../policy/batch-cost.ts";
import type { Entry } from "../queue/entry.ts";
import { countsItself, succeed } from "../submit/callers.ts";
import type { CallingBatch } from "../submit/self-calls.ts";
import { countItems, type Services } from "../submit/services.ts";
import { Timeout } from "../time/deadlines.ts";
import { failEntries, ignorePlaces, readPlace } from "./places.ts";

/** The batch of a call. */
export interface CalledBatch extends CallingBatch, Pick<RunningBatch, "id" | "key" | "reason" | "startedAt"> {
  /** The observer's watch; null if there is none. */
  readonly watch: BatchWatch | null;
  /** The current call; null if there is none. */
  call: HandlerCall | null;
  /** Number of calls so far. */
  calls: number;
  /** Gives the slot back, if there is one, before the batch has ended. */
  releaseSlot(): void;
  /** `count` callers have been answered. */
  noteSettled(count: number): void;
  /** Ends the call: all of its callers have their answers. */
  answered(now: number): void;
  /** Ends the call: it failed as a whole. */
  refused(error: unknown): void;
  /** Ends the call: it took longer than `handlerTimeoutMs`. */
  timedOut(error: unknown): void;
}

/** The engine's functions are static, because the handler gets the object itself. */
export class HandlerCall implements BatchContext {
  readonly cost: number;
  readonly #batch: CalledBatch;
  readonly #services: Services;
  readonly #entries: readonly Entry[];
  /** When it began. Waiting for a slot within it does not count. */
  #calledAt: number;
  /** True once it has reached the handler's `run`. */
  #hasRun = false;
  /** Its number in its batch. A handler that never answers keeps only this and the batch alive. */
  readonly #number: number;
  /** Number of promises in its answer that have not settled. */
  #awaited = 0;
  #limit: Timeout | null = null;
  #grant: (() => void) | null = null;
  /** Signal and requests are made when first read, because most handlers never read them. */
  #controller: AbortController | null = null;
  #requests: readonly BatchRequest[] | null = null;
  #aborted: { readonly reason: unknown } | null = null;

  constructor(batch: CalledBatch, entries: readonly Entry[], cost: number, now: number, services: Services) {
    this.#batch = batch;
    this.#services = services;
    this.#entries = entries;
    this.cost = cost;
    this.#calledAt = now;
    batch.calls += 1;
    this.#number = batch.calls;
    batch.call = this;
  }

  // What the handler sees.

  get id(): string {
    return this.#batch.id;
  }

  get key(): string | undefined {
    return this.#batch.key;
  }

  get reason(): BatchReason {
    return this.#batch.reason;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted !== null) this.#controller.abort(this.#aborted.reason);
    return this.#controller.signal;
  }

  get requests(): readonly BatchRequest[] {
    const { startedAt } = this.#batch;
    this.#requests ??= this.#entries.map(({ facts, priority, moment }) => ({
      context: facts.context,
      priority,
      waitedMs: startedAt - moment.at,
    }));
    return this.#requests;
  }

  // Calling.

  /** Calls the handler, and settles the callers when it answers. */
  static make(call: HandlerCall): void {
    const batch = call.#batch;
    const number = call.#number;
    if (batch.holdsSlot) call.#armLimit();
    let places: unknown;
    try {
      places = call.#ask();
      if (isThenable(places)) {
        Promise.resolve(places).then(
          (late) => HandlerCall.answer(HandlerCall.#live(batch, number), late),
          (error: unknown) => HandlerCall.#fail(HandlerCall.#live(batch, number), error),
        );
        return;
      }
    } catch (error) {
      HandlerCall.#fail(call, error);
      return;
    }
    HandlerCall.answer(call, places);
  }

  #ask(): unknown {
    const { selfCalls, stages } = this.#services;
    const { watch } = this.#batch;
    const items = itemsOf(this.#entries);
    this.#hasRun = stages.prepare === undefined && stages.finish === undefined;
    const handler = this.#hasRun ? stages.run : () => this.#runStages(items);
    if (watch === null) return selfCalls.call(this.#batch, handler, items, this);
    return watch.around(() => selfCalls.call(this.#batch, handler, items, this));
  }

  /** Runs the stages of a handler with more than `run`. Only `run` and later stages hold a slot. */
  async #runStages(items: unknown[]): Promise<unknown> {
    const { options, stages } = this.#services;
    const { prepare, run, finish } = stages;
    const input = prepare === undefined ? items : await prepare(items, this);
    if (this.#aborted === null) await this.#slot();
    if (this.#aborted !== null) throw this.#aborted.reason;
    this.#hasRun = true;
    const output = await run(input, this);
    if (finish === undefined || this.#isOver) return output;
    // With `prefetch`, a batch finishes without its slot, unless the handler may be called again
    // for it.
    const { prefetch, retry, isolateFailures } = options;
    if (prefetch > 0 && retry === undefined && !isolateFailures) this.#batch.releaseSlot();
    return finish(output, this);
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

  /** The batch has got the slot that the call waits for, or will wait for. */
  static granted(call: HandlerCall): void {
    call.#armLimit();
    call.#grant?.();
  }

  #armLimit(): void {
    const { name, options, deadlines } = this.#services;
    const { handlerTimeoutMs } = options;
    if (handlerTimeoutMs === Infinity) return;
    this.#limit ??= new Timeout(deadlines);
    this.#limit.start(handlerTimeoutMs, () =>
      this.#batch.timedOut(handlerTimeoutError(name, handlerTimeoutMs, this.#entries.length)),
    );
  }

  // Its end.

  /** The call of this number; null if it has ended. */
  static #live({ call }: CalledBatch, number: number): HandlerCall | null {
    return call !== null && call.#number === number ? call : null;
  }

  get #isOver(): boolean {
    return this.#batch.call !== this;
  }

  /** How long it has taken; undefined if it was called off before the handler's `run`. */
  static durationMs(call: HandlerCall, now: number): number | undefined {
    return call.#aborted !== null && !call.#hasRun ? undefined : now - call.#calledAt;
  }

  /** Aborts the handler's signal, and keeps the first reason. */
  static abort(call: HandlerCall, reason: unknown): void {
    if (call.#aborted !== null) return;
    call.#aborted = { reason };
    call.#controller?.abort(reason);
  }

  /** Ends it. The handler may continue: it keeps its requests before entries are forgotten. */
  static end(call: HandlerCall): void {
    call.#limit?.clear();
    if (call.#services.options.dedupe !== undefined) void call.requests;
    call.#batch.call = null;
  }

  static #fail(call: HandlerCall | null, error: unknown): void {
    if (call !== null && !call.#isOver) call.#batch.refused(error);
  }

  #arrived(now: number): void {
    if (this.#awaited === 0 && !this.#isOver) this.#batch.answered(now);
  }

  /** Settles the callers with the handler's answer, unless it is too late or its shape is wrong. */
  static answer(call: HandlerCall | null, places: unknown): void {
    if (call === null || call.#isOver) {
      ignorePlaces(places);
      return;
    }
    const services = call.#services;
    const entries = call.#entries;
    if (resultLength(places) !== entries.length) {
      ignorePlaces(places);
      HandlerCall.#fail(call, batchResultError(services.name, places, entries.length));
    } else {
      const now = services.clock.now();
      call.#settle(entries, places as ArrayLike<unknown>, now);
      call.#arrived(now);
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
    const batch = this.#batch;
    const number = this.#number;
    // Its own `then` may throw, or call back synchronously.
    Promise.prototype.then.call(
      Promise.resolve(place),
      (value) => HandlerCall.#settleLate(HandlerCall.#live(batch, number), entry, value, false),
      (error: unknown) => HandlerCall.#settleLate(HandlerCall.#live(batch, number), entry, error, true),
    );
    this.#awaited += 1;
  }

  static #settleLate(call: HandlerCall | null, entry: Entry, value: unknown, isFailure: boolean): void {
    if (call === null) return;
    const now = call.#services.clock.now();
    if (isFailure) failEntries([entry], value, "failed", call.#batch, call.#services, now);
    else call.#settle([entry], [value], now);
    call.#awaited -= 1;
    call.#arrived(now);
  }
}
