/**
 * Every suite by name, loaded on demand, so that a suite that cannot be loaded does not stop the
 * others.
 */
import type { Progress } from "../harness/rounds.ts";
import type { Scale, Section } from "../report/section.ts";

type RunSuite = (scale: Scale, progress: Progress) => Promise<Section>;

export interface Suite {
  readonly load: () => Promise<RunSuite>;
  /** Rounds of the full run; 0 omits the suite. */
  readonly rounds: number;
  /** Rounds of the quick run; 0 omits the suite. */
  readonly quickRounds: number;
}

/** In the order of the report. */
export const suites: Readonly<Record<string, Suite>> = {
  w6: { load: async () => (await import("./policy.ts")).policy, rounds: 5, quickRounds: 2 },
  w1: { load: async () => (await import("./bursts.ts")).bursts, rounds: 7, quickRounds: 5 },
  batches: { load: async () => (await import("./one-batch.ts")).oneBatch, rounds: 7, quickRounds: 3 },
  w2: { load: async () => (await import("./queues.ts")).closedLoop, rounds: 7, quickRounds: 5 },
  w3: { load: async () => (await import("./queues.ts")).deepQueue, rounds: 5, quickRounds: 3 },
  lone: { load: async () => (await import("./lone.ts")).loneItem, rounds: 5, quickRounds: 3 },
  options: { load: async () => (await import("./queues.ts")).optionCost, rounds: 5, quickRounds: 3 },
  priorities: { load: async () => (await import("./priorities.ts")).priorities, rounds: 5, quickRounds: 1 },
  small: { load: async () => (await import("./small.ts")).small, rounds: 5, quickRounds: 1 },
  size: { load: async () => (await import("./size.ts")).size, rounds: 1, quickRounds: 1 },
  gather: { load: async () => (await import("./gather.ts")).gather, rounds: 5, quickRounds: 1 },
  limits: { load: async () => (await import("./limits.ts")).limits, rounds: 5, quickRounds: 1 },
  threads: { load: async () => (await import("./threads.ts")).threads, rounds: 5, quickRounds: 3 },
  dispatch: { load: async () => (await import("./dispatch.ts")).dispatch, rounds: 0, quickRounds: 2 },
  python: { load: async () => (await import("./python-systems.ts")).pythonSystems, rounds: 3, quickRounds: 0 },
};
