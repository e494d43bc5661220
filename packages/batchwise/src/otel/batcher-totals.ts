// What is read of batchers when metrics are collected. Batchers of one name and meter share series, so their numbers are
// added up: a decorated method has a batcher for each instance, all with the same name.
//
// A batcher is held weakly: one that nobody uses any more is collected, instrumented or not.

import type { Attributes, BatchObservableResult, Meter } from "@opentelemetry/api";
import type { BatcherStats } from "../core/contract/stats.ts";
import { BATCHER_SERIES } from "./batcher-series.ts";
import { type Instruments, makeInstruments, observedOf, toSeconds } from "./series.ts";

/** What is read of a batcher. */
export interface ReadBatcher {
  readonly options: {
    readonly name: string;
    readonly maxBatchSize: number;
    readonly maxBatchCost: number | "learn";
    readonly maxQueueSize: number;
    readonly concurrency: number;
  };
  readonly closed: boolean;
  stats(): BatcherStats;
}

export type BatcherInstruments = Instruments<typeof BATCHER_SERIES>;

interface Watched {
  readonly batcher: WeakRef<ReadBatcher>;
  readonly attributes: Attributes;
  /** The labels as text: batchers of one group share series. */
  readonly group: string;
}

/** The sums over a group's batchers. */
class Sums {
  waiting = 0;
  blocked = 0;
  running = 0;
  runningBatches = 0;
  oldestWaitMs = 0;
  busyMs = 0;
  lifeMs = 0;
  queueLimit = 0;
  slots = 0;

  add({ options }: ReadBatcher, stats: BatcherStats): void {
    this.waiting += stats.waiting;
    this.blocked += stats.blocked;
    this.running += stats.running;
    this.runningBatches += stats.runningBatches;
    this.oldestWaitMs = Math.max(this.oldestWaitMs, stats.oldestWaitMs);
    this.busyMs += stats.busyMs;
    this.lifeMs += stats.busyMs + stats.idleMs;
    this.queueLimit += options.maxQueueSize;
    this.slots += options.concurrency;
  }
}

/** The instruments of one meter, and the batchers that they read. */
export class BatcherMetrics {
  readonly instruments: BatcherInstruments;
  readonly #watched: Set<Watched> = new Set();
  /** The labels of all groups that there have been: the SDK shows the last value of a series for ever, so it must be 0. */
  readonly #groups: Map<string, Attributes> = new Map();

  constructor(meter: Meter) {
    this.instruments = makeInstruments(meter, BATCHER_SERIES);
    meter.addBatchObservableCallback((result) => this.#observe(result), observedOf(BATCHER_SERIES, this.instruments));
  }

  /** Reads the batcher until the function that it returns is called, or until the batcher is closed and at rest. */
  watch(batcher: ReadBatcher, attributes: Attributes): () => void {
    const group = JSON.stringify(Object.entries(attributes).sort());
    this.#groups.set(group, attributes);
    const watched = { batcher: new WeakRef(batcher), attributes, group };
    this.#watched.add(watched);
    return () => {
      this.#watched.delete(watched);
    };
  }

  #observe(result: BatchObservableResult): void {
    const sums = new Map([...this.#groups.keys()].map((group) => [group, new Sums()]));
    for (const watched of this.#watched) {
      const batcher = watched.batcher.deref();
      const stats = batcher?.stats();
      if (batcher !== undefined && stats !== undefined) sums.get(watched.group)?.add(batcher, stats);
      if (stats === undefined || (batcher?.closed && isAtRest(stats))) this.#watched.delete(watched);
    }
    for (const [group, now] of sums) this.#tell(result, this.#groups.get(group) ?? {}, now);
  }

  #tell(result: BatchObservableResult, attributes: Attributes, now: Sums): void {
    const { instruments: to } = this;
    result.observe(to.waiting, now.waiting, attributes);
    result.observe(to.blocked, now.blocked, attributes);
    result.observe(to.running, now.running, attributes);
    result.observe(to.runningBatches, now.runningBatches, attributes);
    result.observe(to.oldestWait, toSeconds(now.oldestWaitMs), attributes);
    result.observe(to.utilization, now.lifeMs > 0 ? now.busyMs / now.lifeMs : 0, attributes);
    if (now.queueLimit < Infinity) result.observe(to.queueLimit, now.queueLimit, attributes);
    if (now.slots < Infinity) result.observe(to.slots, now.slots, attributes);
  }
}

const byMeter: WeakMap<Meter, BatcherMetrics> = new WeakMap();

/** The same for each call with the same meter. */
export function batcherMetricsOf(meter: Meter): BatcherMetrics {
  const known = byMeter.get(meter);
  if (known !== undefined) return known;
  const made = new BatcherMetrics(meter);
  byMeter.set(meter, made);
  return made;
}

function isAtRest({ waiting, blocked, running }: BatcherStats): boolean {
  return waiting + blocked + running === 0;
}
