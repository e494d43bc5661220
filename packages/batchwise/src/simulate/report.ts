// What a simulation reports, and how it is counted in a bounded amount of memory.

import type { BatcherStats } from "../core/contract/stats.ts";

/** A distribution, within 0.1 %; `mean` and `max` are exact. All are 0 where nothing was seen. */
export interface SimulationQuantiles {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** The most that any rule can reach, without noise, stalls, changes and failures. */
export interface SimulationBound {
  /**
   * Items per second that can be served within the target when they arrive evenly: batches of the
   * largest size with `(1 + 1 / slots) * runMs(size)` within it. Without a target, the rate of the
   * best size up to `maxBatchSize`.
   */
  readonly capacityPerSecond: number;
  /** The same where more arrives than that: batches gather faster, so larger ones are in time. */
  readonly mostPerSecond: number;
  /** The part of the offered items that this is, at most 1. */
  readonly goodput: number;
}

/**
 * What became of the items that were submitted after the warm-up. Durations are in milliseconds of
 * virtual time.
 */
export interface SimulationReport {
  readonly durationMs: number;
  readonly warmUpMs: number;
  readonly seed: number;
  /** What goodput is counted against; Infinity where there is none. */
  readonly targetMs: number;
  /** Items that callers have submitted, each counted once. */
  readonly offered: number;
  readonly offeredPerSecond: number;
  /** Items answered, and those of them that were answered within the target. */
  readonly answered: number;
  readonly inTime: number;
  /** The part of the offered items that was answered in time, and per second. */
  readonly goodput: number;
  readonly goodputPerSecond: number;
  /** Items refused after all attempts: OVERLOADED, QUEUE_FULL, DEADLINE_EXCEEDED. */
  readonly refused: number;
  /** Items that the handler failed. */
  readonly failed: number;
  /** Further submits of callers who were refused (`attempts`). */
  readonly retries: number;
  /** From the first submit of an item to its answer. */
  readonly latencyMs: SimulationQuantiles;
  /** From a submit to its refusal. */
  readonly refusedAfterMs: SimulationQuantiles;
  /** Calls of the handler. */
  readonly calls: number;
  readonly callsPerItem: number;
  readonly batchSize: SimulationQuantiles;
  readonly runMs: SimulationQuantiles;
  readonly bound: SimulationBound;
  /** Of the whole run, warm-up included, as `stats()` of the batcher says at the end. */
  readonly stats: BatcherStats;
  /** What the batcher has warned of. */
  readonly warnings: readonly string[];
}

/** Buckets to a factor of e: a value is within 0.1 % of the middle of its bucket. */
const FINENESS = 500;
/** Everything below this counts as 0. */
const LEAST = 1e-6;

/** A histogram that is finer than the one of `stats()`. */
export class FineHistogram {
  readonly #counts: Map<number, number> = new Map();
  #total = 0;
  #sum = 0;
  #max = 0;

  record(value: number): void {
    const bucket = value > LEAST ? Math.round(FINENESS * Math.log(value)) : -Infinity;
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1);
    this.#total += 1;
    this.#sum += value;
    if (value > this.#max) this.#max = value;
  }

  quantiles(): SimulationQuantiles {
    const buckets = [...this.#counts].sort(([a], [b]) => a - b);
    const at = (share: number): number => {
      const rank = Math.ceil(share * this.#total);
      let seen = 0;
      for (const [bucket, count] of buckets) {
        seen += count;
        if (seen >= rank) return Math.min(this.#max, Math.exp(bucket / FINENESS));
      }
      return 0;
    };
    const mean = this.#total === 0 ? 0 : this.#sum / this.#total;
    const [p50, p90, p95, p99, p999] = [0.5, 0.9, 0.95, 0.99, 0.999].map(at) as [
      number,
      number,
      number,
      number,
      number,
    ];
    return { mean, p50, p90, p95, p99, p999, max: this.#max };
  }
}
