// The shared services of a batcher on a virtual clock, for tests of a single part.

import { type VirtualClock, virtualClock } from "batchwise/testing";
import { Events, type WarningEvent } from "../../../src/core/contract/events.ts";
import { resolveHandler } from "../../../src/core/contract/handler.ts";
import type { BatchOptions } from "../../../src/core/contract/options.ts";
import { PreparedOptions } from "../../../src/core/contract/resolve-options.ts";
import type { BatcherStats } from "../../../src/core/contract/stats.ts";
import { Queue } from "../../../src/core/queue/queue.ts";
import { Recorder } from "../../../src/core/stats/recorder.ts";
import { AbortSignals } from "../../../src/core/submit/abort-signals.ts";
import type { Services } from "../../../src/core/submit/services.ts";
import { SteadyClock } from "../../../src/core/time/clock.ts";
import { Deadlines } from "../../../src/core/time/deadlines.ts";
import { Turn } from "../../../src/core/time/turn.ts";

export interface ServicesKit {
  readonly clock: VirtualClock;
  readonly services: Services;
  readonly warnings: WarningEvent[];
  readonly stats: () => BatcherStats;
}

export function servicesKit(given?: BatchOptions<unknown, unknown>): ServicesKit {
  const clock = virtualClock();
  const steady = new SteadyClock(clock, (callback) => callback());
  const events = new Events((callback) => callback(), null);
  const warnings: WarningEvent[] = [];
  events.on("warning", (warning) => warnings.push(warning));
  const recorder = new Recorder();
  const services: Services = {
    name: "batch",
    inContext: (callback) => callback(),
    options: PreparedOptions.of(given).options,
    stages: resolveHandler(() => []),
    queue: new Queue({ isFair: false, isKeyed: true, priorityAgingMs: 10_000 }),
    clock: steady,
    recorder,
    events,
    observer: null,
    deadlines: new Deadlines(steady, (work) => work()),
    signals: new AbortSignals((work) => work()),
    turn: new Turn(steady, () => {}),
    selfCalls: null as never,
  };
  const stats = (): BatcherStats =>
    recorder.snapshot({ waiting: 0, blocked: 0, oldestAt: Number.POSITIVE_INFINITY, learned: null }, steady.now());
  return { clock, services, warnings, stats };
}
