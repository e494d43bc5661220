// The batcher as users have it: takes items in, hands promises out, and reports. What happens to an item in between
// is the scheduler's affair.

import { Agenda } from "./agenda.ts";
import { Call, type Desk, Member, refuse, Ticket } from "./callers.ts";
import { Registry, scopeOf } from "./dedupe.ts";
import { BatchwiseError, closedError } from "./errors.ts";
import { type EventName, Events, type Listener } from "./events.ts";
import { resolveHandler, type Stages } from "./handler.ts";
import { checkSubmitOptions, dedupeKeyOf, Intake } from "./intake.ts";
import { type ConfigureOptions, type ResolvedOptions, reconfigure, resolveOptions } from "./options.ts";
import { Scheduler } from "./scheduler.ts";
import type { Resolve, Sink } from "./segment.ts";
import { Watches } from "./signals.ts";
import { type BatcherStats, Tally } from "./stats.ts";
import type { Batcher, CloseOptions, RunningBatch, SubmitOptions } from "./types.ts";
import { checkIsObject, invalidOption } from "./validate.ts";

/** One executor for all promises of the hot path: a closure an item would cost as much as the promise itself. */
let captured: Resolve;
const capture = (resolve: Resolve): void => {
  captured = resolve;
};

const EVENT_NAMES: readonly string[] = ["batch", "item", "warning"];

export class BatcherCore implements Batcher<unknown, unknown> {
  readonly #scheduler: Scheduler;
  readonly #intake: Intake;
  readonly #registry: Registry;
  readonly #desk: Desk;
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
    this.#intake = new Intake(stages);
    this.#registry = new Registry(this.#desk, options.cache);
    this.#isPlain = isPlain(stages, options);
    this.#isMinUnset = (given as ConfigureOptions | undefined)?.minBatchSize === undefined;
  }

  submit(item: unknown, options?: SubmitOptions): Promise<unknown> {
    const promise = new Promise(capture);
    const scheduler = this.#scheduler;
    if (options === undefined && this.#isPlain && this.#closing === null && scheduler.hasRoom) {
      this.#desk.tally.submitted += 1;
      scheduler.acceptPlain(item, captured);
    } else {
      this.#accept(item, options, captured, scheduler.options.smallCallFirst >= 1);
    }
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
    return this.#scheduler.flush();
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
    const { waiting, oldestAt } = this.#scheduler;
    return this.#desk.tally.snapshot({ waiting, oldestAt }, this.#desk.clock.now());
  }

  inspect(): readonly RunningBatch[] {
    return [...this.#scheduler.running].map(({ id, size, start: { key, cost, reason, startedAt } }) =>
      Object.freeze({ id, key, size, cost, reason, startedAt }),
    );
  }

  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void {
    if (!EVENT_NAMES.includes(name)) {
      throw invalidOption(TypeError, `Unknown event \`${String(name)}\`, expected one of ${EVENT_NAMES.join(", ")}`);
    }
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
        this.#scheduler.closeHandler().then(resolve, reject);
      };
    });
    if (options?.drain === false) {
      this.#registry.closeLookups(this.#desk.clock.now());
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
      for (let index = 0; index < items.length; index += 1)
        this.#accept(items[index], options, new Member(call, index), isSmall);
    });
  }

  /** Takes an item in. Never throws: what goes wrong goes to the answer. */
  #accept(item: unknown, submit: SubmitOptions | undefined, answer: Sink, isSmall: boolean): void {
    const scheduler = this.#scheduler;
    this.#desk.tally.submitted += 1;
    const time = scheduler.turnTime();
    if (this.#closing !== null) {
      refuse(this.#desk, answer, closedError(), "rejected", time, time);
      return;
    }
    if (this.#isPlain && submit === undefined && scheduler.hasRoom) {
      scheduler.acceptPlain(item, answer);
      return;
    }
    try {
      if (submit !== undefined) checkSubmitOptions(submit);
      if (submit?.signal?.aborted) refuse(this.#desk, answer, submit.signal.reason, "cancelled", time, time);
      else if (scheduler.options.dedupe !== undefined) this.#acceptShared(item, submit, answer, isSmall, time);
      else this.#acceptOne(item, submit, answer, isSmall, time);
    } catch (error) {
      refuse(this.#desk, answer, error, refusalOf(error), time, time);
    }
  }

  #acceptOne(item: unknown, submit: SubmitOptions | undefined, answer: Sink, isSmall: boolean, time: number): void {
    const { options } = this.#scheduler;
    const entry = this.#intake.read(item, answer, isSmall, time, options, submit);
    const timeoutMs = submit?.timeoutMs ?? options.timeoutMs;
    if (submit?.signal !== undefined || timeoutMs !== Number.POSITIVE_INFINITY) {
      entry.sink = new Ticket(this.#desk, answer, time, time + timeoutMs, submit?.signal);
    }
    this.#scheduler.accept(entry);
  }

  /** Joins the place of an equal item, or opens one: looked up in the cache first, queued on a miss. */
  #acceptShared(item: unknown, submit: SubmitOptions | undefined, answer: Sink, isSmall: boolean, time: number): void {
    const { options } = this.#scheduler;
    const dedupe = options.dedupe as NonNullable<typeof options.dedupe>;
    const cacheKey = dedupeKeyOf(dedupe, item);
    const scope = scopeOf(submit?.key ?? options.key?.(item), cacheKey);
    const timeoutMs = submit?.timeoutMs ?? options.timeoutMs;
    const known = this.#registry.find(scope);
    if (known !== undefined) {
      this.#desk.tally.deduped += 1;
      known.join(new Ticket(this.#desk, answer, time, time + timeoutMs, submit?.signal));
      return;
    }
    const entry = this.#intake.read(item, answer, isSmall, time, options, submit);
    const shared = this.#registry.open(scope, cacheKey);
    entry.sink = shared;
    shared.join(new Ticket(this.#desk, answer, time, time + timeoutMs, submit?.signal));
    this.#registry.lookUp(scope, shared, () => this.#scheduler.accept(entry));
  }
}

/** True when an item needs nothing but its place in the queue. */
function isPlain(stages: Stages, options: ResolvedOptions): boolean {
  const functions = [
    options.cost,
    options.key,
    options.dedupe,
    options.fairBy,
    options.captureContext,
    stages.prepareItem,
  ];
  return (
    functions.every((option) => option === undefined) &&
    options.maxBatchCost === Number.POSITIVE_INFINITY &&
    options.timeoutMs === Number.POSITIVE_INFINITY &&
    options.smallCallFirst === 0
  );
}

/** ITEM_TOO_LARGE is the batcher's refusal; everything else thrown on the way in is a user function's failure. */
function refusalOf(error: unknown): "rejected" | "failed" {
  return error instanceof BatchwiseError && error.code === "ITEM_TOO_LARGE" ? "rejected" : "failed";
}
