// The shared services of a batcher on a virtual clock, for tests of a single part.

import { type VirtualClock, virtualClock } from "batchwise/testing";
import type { WarningEvent } from "../../../src/core/contract/events.ts";
import { resolveHandler } from "../../../src/core/contract/handler.ts";
import type { BatchOptions } from "../../../src/core/contract/options.ts";
import { PreparedOptions } from "../../../src/core/contract/resolve-options.ts";
import type { BatcherStats } from "../../../src/core/contract/stats.ts";
import { Services } from "../../../src/core/submit/services.ts";

export interface ServicesKit {
  readonly clock: VirtualClock;
  readonly services: Services;
  readonly warnings: WarningEvent[];
  readonly stats: () => BatcherStats;
}

export function servicesKit(given?: BatchOptions<unknown, unknown>): ServicesKit {
  const clock = virtualClock();
  const prepared = PreparedOptions.of({ ...given, clock });
  const services = new Services(
    prepared,
    resolveHandler(() => []),
    null as never,
  );
  services.scheduler = { inOneStep: (work) => work(), turnEnded: () => {} };
  const warnings: WarningEvent[] = [];
  services.events.on("warning", (warning) => warnings.push(warning));
  const { recorder } = services;
  const stats = (): BatcherStats =>
    recorder.snapshot(
      { waiting: 0, blocked: 0, running: 0, runningBatches: 0, oldestAt: Number.POSITIVE_INFINITY, learned: null },
      services.clock.now(),
    );
  return { clock, services, warnings, stats };
}
