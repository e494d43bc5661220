// What the handler sees of one call: the batch's facts, its signal, and one entry per caller. The signal and the
// entries are made when they are first read, for most handlers never do.

import type { BatchReason } from "../contract/outcome.ts";
import type { BatchContext, BatchRequest } from "../contract/types.ts";
import type { Segment } from "../queue/segment.ts";
import type { Run } from "./run.ts";

export class RunContext implements BatchContext {
  readonly #run: Run;
  readonly #segment: Segment;
  readonly cost: number;
  #requests: readonly BatchRequest[] | null = null;

  constructor(run: Run, segment: Segment, cost: number) {
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
  return Array.from({ length: segment.length }, (_, index) => ({
    context: segment.contextAt(index),
    priority: segment.priorityAt(index),
    waitedMs: startedAt - segment.timeAt(index),
  }));
}
