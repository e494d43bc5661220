// Statistics of a batcher. Only the recorder counts: the engine writes to it, and `snapshot` is the
// frozen, complete view for users. At rest
// `submitted = completed + failed + cancelled + expired + rejected`.

import type { BatchReason, ItemOutcome } from "../contract/outcome.ts";
import type { BatcherStats } from "../contract/stats.ts";
import type { Entry } from "../queue/entry.ts";
import type { Moment } from "../time/turn.ts";
import { Histogram } from "./histogram.ts";

/** Current values that only the engine knows. */
export interface Gauges extends Pick<BatcherStats, "waiting" | "blocked" | "running" | "runningBatches" | "learned"> {
  readonly oldestAt: number;
}

const MICROSECOND = 0.001;

/** All that `resetStats()` resets but the number of submits. */
class Counts {
  busyMs = 0;
  /** Since when batches run, if any do. */
  busySince = 0;
  readonly outcomes = { completed: 0, failed: 0, cancelled: 0, expired: 0, rejected: 0 };
  readonly reasons = { size: 0, cost: 0, idle: 0, wait: 0, preferred: 0, deadline: 0, flush: 0, drain: 0 };
  readonly totals = { deduped: 0, cacheHits: 0, batches: 0 };
  readonly waitMs = new Histogram(MICROSECOND);
  readonly runMs = new Histogram(MICROSECOND);
  readonly latencyMs = new Histogram(MICROSECOND);
  readonly batchSize = new Histogram(1);
  readonly batchCost = new Histogram(MICROSECOND);
}

export class Recorder {
  /** Counted for each item, so not among the other counts: one object less to reach. */
  #submitted = 0;
  /** Time of the first submit, or of a reset while a batch ran; Infinity before. */
  #startedAt = Infinity;
  #counts: Counts = new Counts();
  #isBusy = false;
  /** When the batcher came to rest after `close()`; null until then. */
  #closedAt: number | null = null;

  /** Counts submits of one moment. */
  submitted(count: number, moment: Pick<Moment, "at">): void {
    if (this.#submitted === 0) this.#startedAt = Math.min(this.#startedAt, moment.at);
    this.#submitted += count;
  }

  joined(): void {
    this.#counts.totals.deduped += 1;
  }

  foundInCache(callers: number): void {
    this.#counts.totals.cacheHits += callers;
  }

  /** Counts items with one outcome and latency. */
  ended(outcome: ItemOutcome, latencyMs: number, times: number): void {
    const { outcomes, latencyMs: latencies } = this.#counts;
    outcomes[outcome] += times;
    if (outcome === "completed" || outcome === "failed") latencies.record(latencyMs, times);
  }

  /** Counts a batch that starts to run. Returns the wait of its oldest entry. */
  batchStarted(entries: readonly Entry[], reason: BatchReason, cost: number, now: number): number {
    const counts = this.#counts;
    counts.totals.batches += 1;
    counts.reasons[reason] += 1;
    counts.batchSize.record(entries.length, 1);
    counts.batchCost.record(cost, 1);
    this.runs(true, now);
    let longest = 0;
    let start = 0;
    while (start < entries.length) {
      const { moment } = entries[start] as Entry;
      let end = start + 1;
      while (end < entries.length && (entries[end] as Entry).moment === moment) end += 1;
      const waitedMs = now - moment.at;
      counts.waitMs.record(waitedMs, end - start);
      longest = Math.max(longest, waitedMs);
      start = end;
    }
    return longest;
  }

  /** Call when a batch has started or stopped to run. `isBusy`: whether any runs now. */
  runs(isBusy: boolean, now: number): void {
    if (isBusy === this.#isBusy) return;
    this.#isBusy = isBusy;
    const counts = this.#counts;
    // A listener may have reset the statistics since `now` was read.
    if (isBusy) counts.busySince = now;
    else counts.busyMs += Math.max(0, now - counts.busySince);
  }

  batchEnded(runMs: number): void {
    this.#counts.runMs.record(runMs, 1);
  }

  closed(now: number): void {
    this.#closedAt ??= now;
  }

  /** Resets the counters. Waiting and running items count as submitted now. */
  reset(now: number): void {
    const { outcomes } = this.#counts;
    const open = Object.values(outcomes).reduce((left, ended) => left - ended, this.#submitted);
    this.#submitted = 0;
    this.#counts = new Counts();
    this.#counts.busySince = now;
    this.#startedAt = this.#isBusy ? now : Infinity;
    if (open > 0) this.submitted(open, { at: now });
  }

  snapshot({ oldestAt, ...gauges }: Gauges, now: number): BatcherStats {
    const counts = this.#counts;
    const batchSize = counts.batchSize.quantiles();
    const batchCost = counts.batchCost.quantiles();
    const until = Math.min(now, this.#closedAt ?? Infinity);
    const busyMs = counts.busyMs + (this.#isBusy ? now - counts.busySince : 0);
    const lifeMs = Math.max(0, until - this.#startedAt);
    return Object.freeze({
      submitted: this.#submitted,
      ...counts.outcomes,
      ...counts.totals,
      batchesByReason: Object.freeze({ ...counts.reasons }),
      ...gauges,
      averageBatchSize: batchSize.mean,
      averageBatchCost: batchCost.mean,
      utilization: lifeMs > 0 ? Math.min(1, busyMs / lifeMs) : 0,
      busyMs,
      idleMs: Math.max(0, lifeMs - busyMs),
      waitMs: counts.waitMs.quantiles(),
      runMs: counts.runMs.quantiles(),
      latencyMs: counts.latencyMs.quantiles(),
      batchSize,
      batchCost,
      oldestWaitMs: gauges.waiting === 0 ? 0 : Math.max(0, now - oldestAt),
    });
  }
}
