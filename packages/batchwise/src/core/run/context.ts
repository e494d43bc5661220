// What the handler sees of one call: the batch's facts, its signal, and one entry per caller. The signal and the
// entries are made when they are first read, for most handlers never do.

import type { RunningBatch } from "../contract/events.ts";
import type { BatchReason } from "../contract/outcome.ts";
import type { BatchContext, BatchRequest } from "../contract/types.ts";
import type { Entry } from "../queue/entry.ts";
import type { BatchSignal } from "./batch-signal.ts";

/** What a batch is made with. */
export interface BatchStart extends Omit<RunningBatch, "id"> {
  /** Unique per batcher, and the running number of the batch in it. */
  readonly idPrefix: string;
  readonly sequence: number;
  /** What its items cost by themselves, without padding; 0 where nothing is learned from it. */
  readonly itemsCost: number;
  /** How long its oldest item has waited. */
  readonly waitMs: number;
}

/** The batch that a call belongs to. */
export interface CalledBatch {
  readonly id: string;
  readonly start: BatchStart;
}

export class CallContext implements BatchContext {
  readonly #batch: CalledBatch;
  readonly #signal: BatchSignal;
  readonly #entries: readonly Entry[];
  readonly cost: number;
  #requests: readonly BatchRequest[] | null = null;

  constructor(batch: CalledBatch, signal: BatchSignal, entries: readonly Entry[], cost: number) {
    this.#batch = batch;
    this.#signal = signal;
    this.#entries = entries;
    this.cost = cost;
  }

  get id(): string {
    return this.#batch.id;
  }

  get key(): string | undefined {
    return this.#batch.start.key;
  }

  get reason(): BatchReason {
    return this.#batch.start.reason;
  }

  get signal(): AbortSignal {
    return this.#signal.signal;
  }

  get requests(): readonly BatchRequest[] {
    this.keepRequests();
    return this.#requests ?? [];
  }

  /** Reads the entries, which may be forgotten from now on. */
  keepRequests(): void {
    const { startedAt } = this.#batch.start;
    this.#requests ??= this.#entries.map(({ facts, priority, moment }) => ({
      context: facts.context,
      priority,
      waitedMs: startedAt - moment.at,
    }));
  }
}
