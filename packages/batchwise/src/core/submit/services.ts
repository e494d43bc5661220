// What all parts of one batcher share: options, time, counters, listeners, deadlines, signals; and
// the function that counts ended items.

import { NO_NAME } from "../contract/errors.ts";
import { Events, printedName } from "../contract/events.ts";
import type { Stages } from "../contract/handler.ts";
import type { BatchObserver } from "../contract/observer.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import type { ItemOutcome } from "../contract/outcome.ts";
import type { PreparedOptions } from "../contract/resolve-options.ts";
import type { Extensions } from "../policy/target-rule.ts";
import { Queue } from "../queue/queue.ts";
import { Recorder } from "../stats/recorder.ts";
import { captureAsyncContext } from "../time/async-context.ts";
import { type InContext, SteadyClock } from "../time/clock.ts";
import { Deadlines, type Steps } from "../time/deadlines.ts";
import { Turn, type TurnEnd } from "../time/turn.ts";
import type { AbortSignals } from "./abort-signals.ts";
import { Pending } from "./pending.ts";
import { SelfCalls } from "./self-calls.ts";

export class Services implements Steps, TurnEnd {
  prepared: PreparedOptions;
  /** The options in force. */
  options: ResolvedOptions;
  readonly stages: Stages;
  readonly extensions: Extensions;
  readonly inContext: InContext = captureAsyncContext();
  readonly clock: SteadyClock;
  readonly events: Events;
  #recorder: Recorder | null = null;
  readonly queue: Queue;
  readonly deadlines: Deadlines;
  readonly pending: Pending = new Pending();
  /** Made with the first signal. */
  signals: AbortSignals | null = null;
  readonly turn: Turn;
  readonly selfCalls: SelfCalls;
  observer: BatchObserver | null = null;
  /** Looks at the queue after each step. Sets itself. */
  scheduler: (Steps & TurnEnd) | null = null;

  /** `extensions`: each maker is called when the options first need its product. */
  constructor(prepared: PreparedOptions, stages: Stages, extensions: Extensions) {
    const { options } = prepared;
    const { clock, fairBy, priorityAgingMs } = options;
    this.prepared = prepared;
    this.options = options;
    this.stages = stages;
    this.extensions = extensions;
    this.clock = new SteadyClock(clock, this.inContext);
    this.events = new Events(this.inContext, printedName(options));
    this.queue = new Queue({ isFair: fairBy !== undefined, isKeyed: true, priorityAgingMs });
    this.deadlines = new Deadlines(this);
    this.turn = new Turn(this, clock.endOfTurn?.bind(clock));
    this.selfCalls = new SelfCalls(this);
  }

  /** The batcher's name, for errors. */
  get name(): string {
    return this.prepared.given.name ?? NO_NAME;
  }

  /** Made with the first submit. */
  get recorder(): Recorder {
    this.#recorder ??= new Recorder();
    return this.#recorder;
  }

  inOneStep(work: () => void): void {
    this.scheduler?.inOneStep(work);
  }

  turnEnded(): void {
    this.scheduler?.turnEnded();
  }
}

/**
 * Counts items with one outcome and latency, and notifies the observer and listeners. `error`: of
 * one that was refused.
 */
export function countItems(
  services: Services,
  outcome: ItemOutcome,
  latencyMs: number,
  times = 1,
  error?: unknown,
): void {
  const { recorder, events } = services;
  recorder.ended(outcome, latencyMs, times);
  services.observer?.settled(outcome, latencyMs, times, error);
  if (!events.hears("item")) return;
  for (let time = 0; time < times; time += 1) events.emit("item", { outcome, latencyMs });
}
