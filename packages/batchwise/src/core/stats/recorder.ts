// Counting. A Tally is what the engine writes to while it works; `snapshot` is what users see: frozen, and complete in
// itself. At rest `submitted = completed + failed + cancelled + expired + rejected`.

import type { BatchReason, ItemOutcome } from "../contract/outcome.ts";
import type { StepColumn } from "../queue/step-column.ts";
import { Backlog } from "./backlog.ts";
import { Histogram, type Quantiles } from "./histogram.ts";

/** What a batcher has done so far. Durations are in milliseconds. */
export interface BatcherStats {
  /** Items given to submit, submitMany and submitSettled, whatever became of them. */
  readonly submitted: number;
  /** Items answered with a result. */
  readonly completed: number;
  /** Items that a user function failed: the handler's error, a result that could not be used, HANDLER_TIMEOUT. */
  readonly failed: number;
  /** Items whose signal aborted. */
  readonly cancelled: number;
  /** Items whose deadline passed. */
  readonly expired: number;
  /** Items refused or dropped: QUEUE_FULL, ITEM_TOO_LARGE, CLOSED. */
  readonly rejected: number;
  /** Items that shared the place of an equal one. */
  readonly deduped: number;
  /** Items answered from the cache. */
  readonly cacheHits: number;
  /** Batches handed to the handler. */
  readonly batches: number;
  readonly batchesByReason: Readonly<Record<BatchReason, number>>;
  /** Items waiting now. */
  readonly waiting: number;
  /** Items in running batches now. */
  readonly running: number;
  readonly averageBatchSize: number;
  readonly averageBatchCost: number;
  /** Share of the time since the batcher was made in which a batch was running, 0 to 1. */
  readonly utilization: number;
  /** From an item's submit, or from the end of its look-up in a cache, to its batch's start. */
  readonly waitMs: Quantiles;
  /** From a batch's start to its end. */
  readonly runMs: Quantiles;
  /** From an item's submit to its answer, of completed and failed items. */
  readonly latencyMs: Quantiles;
  /** How long the item has waited that waits longest now; 0 when nothing waits. */
  readonly oldestWaitMs: number;
}

/** What the engine knows and the tally does not. */
export interface Gauges {
  readonly waiting: number;
  readonly oldestAt: number;
}

export class Tally {
  readonly #startedAt: number;
  readonly #outcomes: Record<ItemOutcome, number> = { completed: 0, failed: 0, cancelled: 0, expired: 0, rejected: 0 };
  readonly #reasons: Record<BatchReason, number> = {
    size: 0,
    cost: 0,
    idle: 0,
    wait: 0,
    min: 0,
    deadline: 0,
    flush: 0,
    drain: 0,
  };
  readonly #waitMs: Histogram = new Histogram();
  readonly #runMs: Histogram = new Histogram();
  readonly #latencyMs: Histogram = new Histogram();
  readonly #backlog: Backlog = new Backlog();
  submitted = 0;
  deduped = 0;
  cacheHits = 0;
  #batches = 0;
  #batchedItems = 0;
  #batchedCost = 0;
  #runningItems = 0;
  #runningBatches = 0;
  #busyMs = 0;
  #busySince = 0;

  constructor(now: number) {
    this.#startedAt = now;
  }

  /** Counts items, but no latency. */
  ended(outcome: ItemOutcome, times: number): void {
    this.#outcomes[outcome] += times;
  }

  /** Counts an item that a batch answered. */
  answered(outcome: ItemOutcome, latencyMs: number): void {
    this.#outcomes[outcome] += 1;
    this.#latencyMs.record(latencyMs, 1);
  }

  /** Puts down the latencies of items that have been counted: `counts[n]` of those submitted at the nth moment. */
  answeredTogether(moments: StepColumn, counts: readonly number[], now: number): void {
    this.#backlog.add({ histogram: this.#latencyMs, moments, now, items: counts });
  }

  /** Does what counting was put off while somebody waited. */
  catchUp(): void {
    this.#backlog.count();
  }

  /** `moments`: when its items were submitted. */
  batchStarted(reason: BatchReason, size: number, cost: number, moments: StepColumn, now: number): void {
    this.#backlog.add({ histogram: this.#waitMs, moments, now, items: size });
    this.#batches += 1;
    this.#reasons[reason] += 1;
    this.#batchedItems += size;
    this.#batchedCost += cost;
    this.#runningItems += size;
    if (this.#runningBatches === 0) this.#busySince = now;
    this.#runningBatches += 1;
  }

  batchEnded(size: number, runMs: number, now: number): void {
    this.#runningItems -= size;
    this.#runningBatches -= 1;
    this.#runMs.record(runMs, 1);
    if (this.#runningBatches === 0) this.#busyMs += now - this.#busySince;
  }

  snapshot(gauges: Gauges, now: number): BatcherStats {
    this.catchUp();
    const busyMs = this.#busyMs + (this.#runningBatches > 0 ? now - this.#busySince : 0);
    const lifeMs = now - this.#startedAt;
    return Object.freeze({
      submitted: this.submitted,
      ...this.#outcomes,
      deduped: this.deduped,
      cacheHits: this.cacheHits,
      batches: this.#batches,
      batchesByReason: Object.freeze({ ...this.#reasons }),
      waiting: gauges.waiting,
      running: this.#runningItems,
      averageBatchSize: share(this.#batchedItems, this.#batches),
      averageBatchCost: share(this.#batchedCost, this.#batches),
      utilization: share(busyMs, lifeMs),
      waitMs: this.#waitMs.quantiles(),
      runMs: this.#runMs.quantiles(),
      latencyMs: this.#latencyMs.quantiles(),
      oldestWaitMs: gauges.waiting === 0 ? 0 : Math.max(0, now - gauges.oldestAt),
    });
  }
}

function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}
