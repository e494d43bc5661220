// The batcher as users have it: takes items in, hands promises out, and reports. What happens to an item in between
// is the affair of the intake, the admission and the scheduler.

import { closedError } from "../contract/errors.ts";
import { type EventName, Events, type Listener } from "../contract/events.ts";
import type { ConfigureOptions, ResolvedOptions } from "../contract/options.ts";
import { reconfigure, resolveOptions } from "../contract/resolve-options.ts";
import type { Batcher, CloseOptions, RunningBatch, SubmitOptions } from "../contract/types.ts";
import { aFunction, check, checkIsObject, invalidOption } from "../contract/validate.ts";
import type { Resolve } from "../queue/recipient.ts";
import { resolveHandler } from "../run/handler.ts";
import { type BatcherStats, Tally } from "../stats/recorder.ts";
import { type InOneStep, Watches } from "../submit/abort-signals.ts";
import type { Admission } from "../submit/admission.ts";
import { afterRejections, Call, type Desk } from "../submit/callers.ts";
import type { Shortcuts } from "../submit/fast-path.ts";
import { Registry } from "../submit/in-flight.ts";
import { Intake } from "../submit/intake.ts";
import { Agenda } from "../time/deadlines.ts";
import { Scheduler } from "./scheduler.ts";

const EVENT_NAMES: readonly string[] = ["batch", "item", "warning"];

export class BatcherCore implements Batcher<unknown, unknown> {
  readonly #scheduler: Scheduler;
  readonly #admission: Admission;
  readonly #intake: Intake;
  readonly #registry: Registry;
  readonly #desk: Desk;
  readonly #shortcuts: Shortcuts;
  #isMinUnset: boolean;
  #closing: Promise<void> | null = null;
  #rest: (() => void) | null = null;

  constructor(handler: unknown, given: unknown) {
    const stages = resolveHandler(handler);
    const options = resolveOptions(given);
    const { clock } = options;
    const inOneStep: InOneStep = (work) => this.#scheduler.inOneStep(work);
    this.#desk = {
      clock,
      tally: new Tally(clock.now()),
      events: new Events(),
      agenda: new Agenda(clock, inOneStep),
      watches: new Watches(inOneStep),
      left: () => this.#scheduler.turn.time(),
    };
    this.#scheduler = new Scheduler(this.#desk, stages, options, () => this.#rest?.());
    const { turn, admission } = this.#scheduler;
    this.#admission = admission;
    this.#shortcuts = admission.shortcuts;
    this.#registry = new Registry(this.#desk, options.cache);
    this.#intake = new Intake(this.#desk, turn, admission, this.#registry, stages);
    this.#isMinUnset = (given as ConfigureOptions | undefined)?.minBatchSize === undefined;
  }

  submit(item: unknown, options?: SubmitOptions): Promise<unknown> {
    let sink!: Resolve;
    const promise = new Promise((resolve) => {
      sink = resolve;
    });
    if (options === undefined && this.#intake.isUniform && this.#shortcuts.addPlain(item, sink)) return promise;
    this.#intake.accept(item, options, sink, 0, this.#scheduler.options.smallCallFirst >= 1);
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
    return this.#admission.ready().then(() => {
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
    this.#admission.settleCounts();
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
    this.#intake.isClosed = true;
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
      // A function of the user that is called on the way may make the array longer or shorter.
      const { length } = items;
      const call = new Call(length, isSettled, resolve);
      const isSmall = length <= this.#scheduler.options.smallCallFirst;
      for (let index = 0; index < length; index += 1) {
        if (options === undefined && this.#intake.isUniform) index = this.#shortcuts.addAll(items, index, length, call);
        if (index < length) this.#intake.accept(items[index], options, call, index, isSmall);
      }
    });
  }
}
