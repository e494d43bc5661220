// The batcher as users have it: takes items in, hands promises out, and reports. What happens to an item in between
// is the scheduler's affair.

import { Agenda } from "./agenda.ts";
import { afterRejections, Call, type Desk, refuse, Ticket } from "./callers.ts";
import { Registry, scopeOf } from "./dedupe.ts";
import { BatchwiseError, closedError } from "./errors.ts";
import { type EventName, Events, type Listener } from "./events.ts";
import { resolveHandler, type Stages } from "./handler.ts";
import {
  checkSubmitOptions,
  costOf,
  dedupeKeyOf,
  Entry,
  Intake,
  isPlainSubmit,
  keyOf,
  refuseOversize,
} from "./intake.ts";
import type { ConfigureOptions, ResolvedOptions } from "./options.ts";
import { oneEach, reconfigure, resolveOptions } from "./resolve-options.ts";
import { Scheduler } from "./scheduler.ts";
import type { Shortcuts } from "./shortcut.ts";
import { Watches } from "./signals.ts";
import type { Addressee, Resolve, Sink } from "./sink.ts";
import { type BatcherStats, Tally } from "./stats.ts";
import type { Batcher, CloseOptions, RunningBatch, SubmitOptions } from "./types.ts";
import { aFunction, check, checkIsObject, invalidOption } from "./validate.ts";

const EVENT_NAMES: readonly string[] = ["batch", "item", "warning"];

export class BatcherCore implements Batcher<unknown, unknown> {
  readonly #scheduler: Scheduler;
  readonly #intake: Intake;
  readonly #registry: Registry;
  readonly #desk: Desk;
  readonly #shortcuts: Shortcuts;
  /** True when every item costs 1. */
  readonly #isUniform: boolean;
  readonly #isPlain: boolean;
  #isMinUnset: boolean;
  #closing: Promise<void> | null = null;
  #rest: (() => void) | null = null;

  constructor(handler: unknown, given: unknown) {
    const stages = resolveHandler(handler);
    const options = resolveOptions(given);
    const { clock } = options;
    this.#desk = {
      clock,
      tally: new Tally(clock.now()),
      events: new Events(),
      agenda: new Agenda(clock),
      watches: new Watches(),
      left: () => this.#scheduler.turnTime(),
    };
    this.#scheduler = new Scheduler(this.#desk, stages, options, () => this.#rest?.());
    this.#shortcuts = this.#scheduler.shortcuts;
    this.#isUniform = options.cost === oneEach;
    this.#intake = new Intake(stages);
    this.#registry = new Registry(this.#desk, options.cache);
    this.#isPlain = isPlain(stages, options);
    this.#isMinUnset = (given as ConfigureOptions | undefined)?.minBatchSize === undefined;
  }

  submit(item: unknown, options?: SubmitOptions): Promise<unknown> {
    let sink!: Resolve;
    const promise = new Promise((resolve) => {
      sink = resolve;
    });
    if (options === undefined && this.#isUniform && this.#shortcuts.addPlain(item, sink)) return promise;
    this.#accept(item, options, sink, 0, this.#scheduler.options.smallCallFirst >= 1);
    return promise;
  }

  submitMany(items: readonly unknown[], options?: SubmitOptions): Promise<unknown[]> {
    return this.#submitAll(items, options, false) as Promise<unknown[]>;
  }

  submitSettled(items: readonly unknown[], options?: SubmitOptions): Promise<PromiseSettledResult<unknown>[]> {
    return this.#submitAll(items, options, true) as Promise<PromiseSettledResult<unknown>[]>;
  }

  ready(): Promise<void> {
    if (this.#closing !== null) return Promise.reject(closedError());
    return this.#scheduler.ready().then(() => {
      if (this.#closing !== null) throw closedError();
    });
  }

  flush(): Promise<void> {
    return this.#scheduler.flush().then(afterRejections);
  }

  pause(): void {
    this.#scheduler.pause();
  }

  resume(): void {
    this.#scheduler.resume();
  }

  configure(changes: ConfigureOptions): void {
    checkIsObject("changes", changes);
    const isMinUnset = this.#isMinUnset && changes?.minBatchSize === undefined;
    this.#scheduler.configure(reconfigure(this.#scheduler.options, changes ?? {}, isMinUnset));
    this.#isMinUnset = isMinUnset;
  }

  get options(): ResolvedOptions {
    return this.#scheduler.options;
  }

  stats(): BatcherStats {
    this.#scheduler.settleCounts();
    const { waiting, oldestAt } = this.#scheduler;
    return this.#desk.tally.snapshot({ waiting, oldestAt }, this.#desk.clock.now());
  }

  inspect(): readonly RunningBatch[] {
    const running = this.#scheduler.running.toSorted((a, b) => a.start.sequence - b.start.sequence);
    return running.map(({ id, size, start: { key, cost, reason, startedAt } }) =>
      Object.freeze({ id, key, size, cost, reason, startedAt }),
    );
  }

  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void {
    if (!EVENT_NAMES.includes(name)) {
      throw invalidOption(TypeError, `Unknown event \`${String(name)}\`, expected one of ${EVENT_NAMES.join(", ")}`);
    }
    check("listener", aFunction, listener);
    return this.#desk.events.on(name, listener);
  }

  get closed(): boolean {
    return this.#closing !== null;
  }

  close(options?: CloseOptions): Promise<void> {
    const isFirst = this.#closing === null;
    this.#closing ??= new Promise((resolve, reject) => {
      this.#rest = () => {
        if (this.#registry.lookups > 0) return;
        this.#rest = null;
        afterRejections()
          .then(() => this.#scheduler.closeHandler())
          .then(resolve, reject);
      };
    });
    if (options?.drain === false) {
      this.#registry.closeLookups();
      this.#scheduler.abandon();
    } else if (isFirst) {
      this.#scheduler.drain();
    }
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #submitAll(items: readonly unknown[], options: SubmitOptions | undefined, isSettled: boolean): Promise<unknown> {
    if (!Array.isArray(items)) {
      return Promise.reject(invalidOption(TypeError, "Expected `items` to be an array"));
    }
    if (items.length === 0) return Promise.resolve([]);
    return new Promise((resolve) => {
      const call = new Call(items.length, isSettled, resolve);
      const isSmall = items.length <= this.#scheduler.options.smallCallFirst;
      for (let index = 0; index < items.length; index += 1) {
        if (options === undefined && this.#isUniform) index = this.#shortcuts.addAll(items, index, call);
        if (index < items.length) this.#accept(items[index], options, call, index, isSmall);
      }
    });
  }

  /** Takes an item in. Never throws: what goes wrong goes to the answer. */
  #accept(item: unknown, submit: SubmitOptions | undefined, sink: Sink, position: number, isSmall: boolean): void {
    const mayBePlain = this.#isPlain && this.#closing === null;
    if (mayBePlain && (submit === undefined || isPlainSubmit(submit))) this.#acceptPlain(item, submit, sink, position);
    else this.#acceptAny(item, submit, sink, position, isSmall);
  }

  /** The hot path: an item that needs nothing but its place in the queue, its cost, its priority and its deadline. */
  #acceptPlain(item: unknown, submit: SubmitOptions | undefined, sink: Sink, position: number): void {
    const scheduler = this.#scheduler;
    const { options } = scheduler;
    const priority = submit?.priority ?? 0;
    let cost = 1;
    try {
      if (!this.#isUniform) cost = costOf(item, options);
      if (this.#closing !== null) throw closedError();
      if (cost > options.maxBatchCost) refuseOversize(item, cost, options);
    } catch (error) {
      this.#desk.tally.submitted += 1;
      refuse(this.#desk, { sink, position, time: scheduler.turnTime() }, error, refusalOf(error));
      return;
    }
    if (isEndless(submit, options) && this.#shortcuts.add(priority, item, sink, position, cost)) return;
    this.#desk.tally.submitted += 1;
    const dueAt = this.#dueAt(submit?.timeoutMs ?? options.timeoutMs);
    if (scheduler.hasRoom) scheduler.acceptPlain(item, sink, position, cost, priority, dueAt);
    else
      scheduler.accept(
        Object.assign(new Entry(sink, position, scheduler.turnTime(), false), { item, cost, priority, dueAt }),
      );
  }

  #acceptAny(item: unknown, submit: SubmitOptions | undefined, sink: Sink, position: number, isSmall: boolean): void {
    const scheduler = this.#scheduler;
    this.#desk.tally.submitted += 1;
    const entry = new Entry(sink, position, scheduler.turnTime(), isSmall);
    try {
      if (submit !== undefined && this.#closing === null) checkSubmitOptions(submit);
      this.#checkStillWanted(submit);
      if (scheduler.options.dedupe !== undefined) this.#acceptShared(entry, item, submit);
      else this.#acceptOne(entry, item, submit);
    } catch (error) {
      if (error instanceof Aborted) refuse(this.#desk, entry, error.reason, "cancelled");
      else refuse(this.#desk, entry, error, refusalOf(error));
    }
  }

  #acceptOne(entry: Entry, item: unknown, submit: SubmitOptions | undefined): void {
    const { options } = this.#scheduler;
    entry.key = keyOf(item, options, submit);
    this.#intake.read(entry, item, options, submit);
    const timeoutMs = submit?.timeoutMs ?? options.timeoutMs;
    if (submit?.signal === undefined) entry.dueAt = this.#dueAt(timeoutMs);
    else entry.sink = this.#ticket(entry, timeoutMs, submit);
    this.#checkStillWanted(submit);
    this.#scheduler.accept(entry);
  }

  /** The user's functions have been called: they may have closed the batcher or aborted the signal. */
  #checkStillWanted(submit: SubmitOptions | undefined): void {
    if (this.#closing !== null) throw closedError();
    if (submit?.signal?.aborted) throw new Aborted(submit.signal.reason);
  }

  /** A deadline counts from the very moment, not from the beginning of a turn that may have been long. */
  #dueAt(timeoutMs: number): number {
    return timeoutMs === Number.POSITIVE_INFINITY ? timeoutMs : this.#desk.clock.now() + timeoutMs;
  }

  #ticket(answer: Addressee, timeoutMs: number, submit: SubmitOptions | undefined): Ticket {
    return new Ticket(this.#desk, answer, this.#dueAt(timeoutMs), submit?.signal);
  }

  /** Joins the place of an equal item, or opens one: looked up in the cache first, queued on a miss. */
  #acceptShared(entry: Entry, item: unknown, submit: SubmitOptions | undefined): void {
    const { options } = this.#scheduler;
    const dedupe = options.dedupe as NonNullable<typeof options.dedupe>;
    const cacheKey = dedupeKeyOf(dedupe, item);
    entry.key = keyOf(item, options, submit);
    const scope = scopeOf(entry.key, cacheKey);
    const timeoutMs = submit?.timeoutMs ?? options.timeoutMs;
    const known = this.#registry.find(scope);
    if (known !== undefined) {
      this.#checkStillWanted(submit);
      known.join(this.#ticket(entry, timeoutMs, submit));
      this.#desk.tally.deduped += 1;
      return;
    }
    this.#intake.read(entry, item, options, submit);
    this.#checkStillWanted(submit);
    const ticket = this.#ticket(entry, timeoutMs, submit);
    const shared = this.#registry.open(scope, cacheKey);
    entry.sink = shared;
    shared.join(ticket);
    this.#registry.lookUp(scope, shared, () => this.#scheduler.accept(entry));
  }
}

/** Thrown on the way in for a caller whose signal has aborted. */
class Aborted {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

/** True when an item has no deadline. Compares without reading the option into a variable, where V8 would box it. */
function isEndless(submit: SubmitOptions | undefined, options: ResolvedOptions): boolean {
  const own = submit?.timeoutMs;
  return own === undefined ? options.timeoutMs === Number.POSITIVE_INFINITY : own === Number.POSITIVE_INFINITY;
}

/** True when an item needs nothing but its place in the queue, its cost and its priority. */
function isPlain(stages: Stages, options: ResolvedOptions): boolean {
  const functions = [options.key, options.dedupe, options.fairBy, options.captureContext, stages.prepareItem];
  return (
    functions.every((option) => option === undefined) &&
    typeof options.batchCost !== "function" &&
    options.smallCallFirst === 0
  );
}

/** CLOSED and ITEM_TOO_LARGE are the batcher's refusals; everything else thrown on the way in is a user function's failure. */
function refusalOf(error: unknown): "rejected" | "failed" {
  return error instanceof BatchwiseError ? "rejected" : "failed";
}
