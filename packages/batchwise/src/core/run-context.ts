// What the handler sees of one call: the batch's facts, its signal, and one entry per caller. The signal and the
// entries are made when they are first read, for most handlers never do.

import type { BatchRun } from "./batch-run.ts";
import type { BatchReason } from "./policy.ts";
import type { Segment } from "./segment.ts";
import type { BatchContext, BatchRequest } from "./types.ts";

export class RunContext implements BatchContext {
  readonly #run: BatchRun;
  readonly #segment: Segment;
  readonly cost: number;
  #requests: readonly BatchRequest[] | null = null;

  constructor(run: BatchRun, segment: Segment, cost: number) {
    this.#run = run;
    this.#segment = segment;
    this.cost = cost;
  }

  get id(): string {
    return this.#run.id;
  }

  get key(): string | undefined {
    return this.#run.start.key;
  }

  get reason(): BatchReason {
    return this.#run.start.reason;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get requests(): readonly BatchRequest[] {
    this.#requests ??= requestsOf(this.#segment, this.#run.start.startedAt);
    return this.#requests;
  }
}

function requestsOf(segment: Segment, startedAt: number): readonly BatchRequest[] {
  return segment.times.map((time, index) => ({
    context: segment.contextAt(index),
    priority: segment.priorityAt(index),
    waitedMs: startedAt - time,
  }));
}
