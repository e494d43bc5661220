// The report of a simulation, counted in a bounded amount of memory.

import type { BatcherStats } from "../core/contract/stats.ts";

/** A distribution, exact to 0.1 %; `mean` and `max` are exact. All are 0 if there are no values. */
export interface SimulationQuantiles {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/**
 * The upper limit of any policy for items that arrive independently (`poisson`), without noise,
 * stalls, changes and failures. Items that arrive together may be served better.
 */
export interface SimulationBound {
  /**
   * Items per second that can be served within the target if they arrive evenly: batches of the
   * largest size for which `(1 + 1 / slots) * runMs(size)` is within it. Without a target, the rate
   * of the best size up to `maxBatchSize`.
   */
  readonly capacityPerSecond: number;
  /** The same if more items arrive: batches fill faster, so larger ones are in time. */
  readonly mostPerSecond: number;
  /** That rate as a share of the offered items, at most 1. */
  readonly goodput: number;
}

/**
 * The outcomes of items submitted after the warm-up. Durations are in milliseconds of virtual time.
 */
export interface SimulationReport {
  readonly durationMs: number;
  readonly warmUpMs: number;
  readonly seed: number;
  /** The latency target that defines goodput; Infinity if there is none. */
  readonly targetMs: number;
  /** Items that callers have submitted, each counted once. */
  readonly offered: number;
  readonly offeredPerSecond: number;
  /** Items answered, and items answered within the target. */
  readonly answered: number;
  readonly inTime: number;
  /** Share of the offered items that were answered in time, and their number per second. */
  readonly goodput: number;
  readonly goodputPerSecond: number;
  /** Items refused after all attempts: OVERLOADED, QUEUE_FULL, DEADLINE_EXCEEDED. */
  readonly refused: number;
  /** Items for which the handler failed. */
  readonly failed: number;
  /** Further submits of refused callers (`attempts`). */
  readonly retries: number;
  /** Time from an item's first submit to its answer. */
  readonly latencyMs: SimulationQuantiles;
  /** Time from a submit to its refusal. */
  readonly refusedAfterMs: SimulationQuantiles;
  /** Calls of the handler. */
  readonly calls: number;
  readonly callsPerItem: number;
  readonly batchSize: SimulationQuantiles;
  readonly runMs: SimulationQuantiles;
  readonly bound: SimulationBound;
  /** The batcher's `stats()` at the end, for the whole run with its warm-up. */
  readonly stats: BatcherStats;
  /** The batcher's warnings. */
  readonly warnings: readonly string[];
}

/** Buckets per factor of e: a value is within 0.1 % of the middle of its bucket. */
const FINENESS = 500;
/** Smaller values count as 0, and larger ones share a bucket. */
const [LEAST, MOST] = [1e-6, 1e9];
const middleOf = (bucket: number): number => LEAST * Math.exp((bucket - 1) / FINENESS);
const bucketOf = (value: number): number => Math.round(FINENESS * Math.log(value / LEAST)) + 1;

/** A finer histogram than that of `stats()`. */
export class FineHistogram {
  readonly #counts: Float64Array = new Float64Array(bucketOf(MOST) + 1);
  #total = 0;
  #sum = 0;
  #max = 0;

  record(value: number): void {
    const bucket = value > LEAST ? bucketOf(Math.min(value, MOST)) : 0;
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#total += 1;
    this.#sum += value;
    if (value > this.#max) this.#max = value;
  }

  quantiles(): SimulationQuantiles {
    const at = (share: number): number => {
      const rank = Math.ceil(share * this.#total);
      let seen = 0;
      for (const [bucket, count] of this.#counts.entries()) {
        seen += count;
        if (seen >= rank && seen > 0) return bucket === 0 ? 0 : Math.min(this.#max, middleOf(bucket));
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
