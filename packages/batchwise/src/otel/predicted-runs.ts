// How long a batch should run, by what the batcher's latency target has learned.

import type { TargetStats } from "../core/contract/stats.ts";
import type { ReadBatcher } from "./batcher-totals.ts";

/** Reading the statistics costs more than a prediction, so what they say serves some batches. */
const BATCHES_PER_READ = 8;

export class PredictedRuns {
  readonly #batcher: ReadBatcher;
  #learned: TargetStats | null = null;
  #left = 0;

  constructor(batcher: ReadBatcher) {
    this.#batcher = batcher;
  }

  /** In milliseconds; null without a target, and until it has learned. */
  ofCost(cost: number): number | null {
    // Batchers of older copies of the package have no such option.
    if (!(this.#batcher.options.targetLatencyMs < Infinity)) return null;
    if (this.#left === 0) this.#read();
    else this.#left -= 1;
    if (this.#learned === null) return null;
    const predictedMs = this.#learned.fixedMs + this.#learned.unitMs * cost;
    return predictedMs > 0 ? predictedMs : null;
  }

  #read(): void {
    const { learned } = this.#batcher.stats();
    this.#learned = learned?.state === "learning" ? null : (learned?.target ?? null);
    this.#left = this.#learned === null ? 0 : BATCHES_PER_READ - 1;
  }
}
