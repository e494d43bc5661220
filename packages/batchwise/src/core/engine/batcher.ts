// The batcher as users have it. It wires Intake, Admission and Scheduler together, takes items in
// and reports; it decides nothing itself.

import { bindOnRead } from "../contract/bind-methods.ts";
import { closedError, itemTooLargeError } from "../contract/errors.ts";
import type { EventName, Listener, RunningBatch } from "../contract/events.ts";
import { resolveHandler } from "../contract/handler.ts";
import { nameOfHandler, withHandlerDefaults } from "../contract/handler-defaults.ts";
import type { Mapped, MapSource } from "../contract/map-options.ts";
import { type ChangeObserver, OBSERVE } from "../contract/observer.ts";
import type { ConfigureOptions, ShownOptions } from "../contract/options.ts";
import { PreparedOptions } from "../contract/resolve-options.ts";
import { WATCH_SLOTS } from "../contract/slot-waits.ts";
import type { BatcherStats } from "../contract/stats.ts";
import type {
  Batcher,
  CloseOptions,
  LaneOptions,
  MapOptions,
  SubmitManyOptions,
  SubmitOptions,
} from "../contract/types.ts";
import { aFunction, anArray, aString, check, checkIsObject, expected, invalidOption } from "../contract/validate.ts";
import type { Extensions } from "../policy/target-rule.ts";
import type { Resolve } from "../queue/recipient.ts";
import { Admission } from "../submit/admission.ts";
import { afterRejections, ManyCall } from "../submit/callers.ts";
import { Intake } from "../submit/intake.ts";
import { Mapping } from "../submit/mapping.ts";
import { Services } from "../submit/services.ts";
import { drainOf, laneOf } from "./method-options.ts";
import { Scheduler } from "./scheduler.ts";
import { warnOfIdle, warnOfWait } from "./warnings.ts";

/** Methods that the makers of objects bind once. The others are bound each time they are read. */
export const HOT = ["submit", "submitMany"] as const;

/** Hooks for a batcher whose options have other names, such as the token batcher. */
export interface Terms {
  /** Makes the error for an item over the cap. */
  readonly tooLargeError: typeof itemTooLargeError;
  /** Translates the options of one submit (if `isMany`: of a submitMany) into core's names. */
  readonly submitOptions: (given: unknown, isMany: boolean) => never;
}

const OWN_TERMS: Terms = { tooLargeError: itemTooLargeError, submitOptions: (given) => given as never };

const EVENT_NAMES: readonly string[] = ["batch", "item", "warning"];

export class BatcherCore implements Batcher<unknown, unknown> {
  readonly #services: Services;
  readonly #terms: Terms;
  readonly #admission: Admission;
  readonly #intake: Intake;
  readonly #scheduler: Scheduler;
  #closing: Promise<void> | null = null;

  /**
   * `given`: options as users give them, or prepared ones. `extensions`: called when the options
   * need a packer other than FIFO, or a latency target.
   */
  constructor(handler: unknown, given: unknown, extensions: Extensions, terms: Terms = OWN_TERMS) {
    const stages = resolveHandler(handler, given);
    const prepared = PreparedOptions.of(withHandlerDefaults(handler, given), nameOfHandler(handler));
    const services = new Services(prepared, stages, extensions);
    this.#services = services;
    this.#terms = terms;
    this.#admission = new Admission(services);
    this.#intake = new Intake(services, this.#admission, terms.tooLargeError);
    this.#scheduler = new Scheduler(services, this.#admission);
    warnOfIdle(services);
    warnOfWait(services);
  }

  submit(item: unknown, options?: SubmitOptions): Promise<unknown> {
    let settle!: Resolve;
    const promise = new Promise((resolve) => {
      settle = resolve;
    });
    this.#intake.accept(item, options && this.#terms.submitOptions(options, false), settle);
    return promise;
  }

  submitMany(items: readonly unknown[], options?: SubmitManyOptions<unknown>): Promise<unknown[]> {
    return this.#submitAll(items, options, false);
  }

  submitSettled(
    items: readonly unknown[],
    options?: SubmitManyOptions<unknown>,
  ): Promise<PromiseSettledResult<unknown>[]> {
    return this.#submitAll(items, options, true);
  }

  map<Settled extends boolean = false>(
    source: MapSource<unknown>,
    options?: MapOptions<unknown, Settled>,
  ): AsyncIterableIterator<Mapped<unknown, Settled>, undefined> {
    const noteStuck = (isStuck: boolean): void => this.#scheduler.noteStuckMap(isStuck);
    const { submitOptions } = this.#terms;
    const target = { services: this.#services, admission: this.#admission, intake: this.#intake };
    return new Mapping(source, options, { ...target, submitOptions, noteStuck }) as never;
  }

  async ready(): Promise<void> {
    if (!this.closed) await this.#admission.ready();
    if (this.closed) throw closedError(this.#services.name);
  }

  async open(): Promise<void> {
    if (this.closed) throw closedError(this.#services.name);
    await this.#services.inContext(() => this.#scheduler.opening?.begin());
  }

  async flush(options?: LaneOptions): Promise<void> {
    const key = laneOf(options);
    await new Promise<void>((resolve) => this.#scheduler.flush(key, resolve));
    await afterRejections();
  }

  idle(): Promise<void> {
    if (this.#scheduler.isAtRest) return Promise.resolve();
    this.#services.selfCalls.noteEnd();
    return this.#scheduler.atRest().then(afterRejections);
  }

  async forget(dedupeKey: string, options?: LaneOptions): Promise<void> {
    check("dedupeKey", aString, dedupeKey);
    await this.#intake.forget(dedupeKey, laneOf(options));
  }

  pause(): void {
    this.#scheduler.pause();
  }

  resume(): void {
    this.#scheduler.resume();
  }

  configure(changes: ConfigureOptions): void {
    checkIsObject("changes", changes);
    const services = this.#services;
    services.prepared = services.prepared.with(changes);
    services.options = services.prepared.options;
    warnOfWait(services);
    this.#intake.configure();
    this.#scheduler.configure();
  }

  get options(): ShownOptions {
    return this.#services.prepared.shown;
  }

  stats(): BatcherStats {
    const { recorder, clock, queue } = this.#services;
    const { slots, next } = this.#scheduler;
    const { blocked, retrying } = this.#admission;
    const gauges = {
      waiting: queue.size + retrying,
      blocked,
      running: slots.running.reduce((items, { live }) => items + live, 0),
      runningBatches: slots.running.length,
      oldestAt: [...slots.pausing].reduce((oldest, { oldestAt }) => Math.min(oldest, oldestAt), queue.oldestAt()),
      learned: next.learned,
    };
    return recorder.snapshot(gauges, clock.now());
  }

  resetStats(): void {
    this.#services.recorder.reset(this.#services.clock.now());
  }

  inspect(): readonly RunningBatch[] {
    const running = this.#scheduler.slots.running.toSorted((a, b) => a.sequence - b.sequence);
    return running.map(({ id, key, size, cost, reason, startedAt }) =>
      Object.freeze({ id, key, size, cost, reason, startedAt: this.#services.clock.toUserTime(startedAt) }),
    );
  }

  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void {
    if (!EVENT_NAMES.includes(name)) {
      throw invalidOption(TypeError, `Unknown event \`${String(name)}\`, expected one of ${EVENT_NAMES.join(", ")}`);
    }
    check("listener", aFunction, listener);
    return this.#services.events.on(name, listener);
  }

  get closed(): boolean {
    return this.#closing !== null;
  }

  close(options?: CloseOptions): Promise<void> {
    let drains: boolean;
    try {
      drains = drainOf(options);
    } catch (error) {
      return Promise.reject(error);
    }
    const isFirst = this.#closing === null;
    this.#services.selfCalls.noteEnd();
    this.#intake.close();
    // The batcher keeps the promise, so it is made in the batcher's own async context.
    this.#closing ??= this.#services.inContext(() => this.#end());
    if (!drains) {
      this.#scheduler.opening?.abandon();
      this.#scheduler.abandon();
    } else if (isFirst) {
      this.#services.pending.skipAll();
      this.#scheduler.drain();
    }
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #end(): Promise<void> {
    await this.#scheduler.atRest();
    await afterRejections();
    this.#services.recorder.closed(this.#services.clock.now());
    this.#scheduler.close();
    this.#admission.release();
    await this.#scheduler.opening?.close();
  }

  // Members that are not part of the public interface, and that `for in` does not show.
  static {
    bindOnRead(BatcherCore.prototype, HOT);
    Object.defineProperties(BatcherCore.prototype, {
      [OBSERVE]: {
        value(this: BatcherCore, change: ChangeObserver): void {
          const services = this.#services;
          const warn = (error: unknown): void =>
            services.events.warn("OBSERVER_FAILED", "A meter or tracer threw.", error);
          services.observer = change(services.observer, warn);
          this.#intake.configure();
        },
      },
      [WATCH_SLOTS]: {
        value(this: BatcherCore, onStep: () => void): () => number {
          this.#scheduler.onStep = onStep;
          return () => this.#scheduler.slotWaitMs;
        },
      },
    });
  }

  #submitAll(
    items: readonly unknown[],
    options: SubmitManyOptions<unknown> | undefined,
    isSettled: boolean,
  ): Promise<never> {
    return new Promise<unknown>((resolve) => {
      // A Proxy may report any length, and another one at the next read, so the length is read
      // once.
      const length = Array.isArray(items) ? items.length : -1;
      if (!(Number.isInteger(length) && length >= 0)) throw expected("items", anArray, items);
      const call = new ManyCall(length, isSettled, resolve);
      if (call.size === 0) resolve([]);
      else this.#intake.acceptAll(items, this.#terms.submitOptions(options, true), call);
    }) as Promise<never>;
  }
}
