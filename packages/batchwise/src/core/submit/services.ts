// Services shared by all parts of one batcher: time, counters, listeners, deadlines, signals; and
// the function that counts ended items.

import type { Events } from "../contract/events.ts";
import type { Stages } from "../contract/handler.ts";
import type { BatchObserver } from "../contract/observer.ts";
import type { ResolvedOptions } from "../contract/options.ts";
import type { ItemOutcome } from "../contract/outcome.ts";
import type { Queue } from "../queue/queue.ts";
import type { Recorder } from "../stats/recorder.ts";
import type { InContext, SteadyClock } from "../time/clock.ts";
import type { Deadlines } from "../time/deadlines.ts";
import type { Turn } from "../time/turn.ts";
import type { AbortSignals } from "./abort-signals.ts";
import type { SelfCalls } from "./self-calls.ts";

export interface Services {
  /** The batcher's name, for errors. */
  readonly name: string;
  /** The options in force. */
  options: ResolvedOptions;
  readonly stages: Stages;
  readonly queue: Queue;
  readonly inContext: InContext;
  readonly clock: SteadyClock;
  readonly recorder: Recorder;
  readonly events: Events;
  observer: BatchObserver | null;
  readonly deadlines: Deadlines;
  readonly signals: AbortSignals;
  readonly turn: Turn;
  selfCalls: SelfCalls;
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
