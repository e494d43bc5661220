// Reads batchers when metrics are collected. Batchers with the same name and meter share series, so
// their numbers are added up: a decorated method has a batcher per instance, all with the same
// name.
//
// Holds each batcher weakly, so that an unused batcher is garbage-collected even if it is
// instrumented.

import type { Attributes, Meter } from "@opentelemetry/api";
import type { BatcherStats } from "../core/contract/stats.ts";
import { BATCHER_SERIES } from "./batcher-series.ts";
import { ErrorTypes } from "./error-type.ts";
import { GaugeWriter, type TellGauge } from "./gauge-writer.ts";
import { type Instruments, labelsText, makeInstruments, observedOf, toSeconds } from "./series.ts";
import { ofMeter } from "./shared.ts";

/** The members of a batcher that are read. */
export interface ReadBatcher {
  readonly options: {
    readonly name: string;
    readonly maxBatchSize: number;
    readonly maxBatchCost: number | "learn";
    readonly maxQueueSize: number;
    readonly concurrency: number;
    readonly targetLatencyMs: number;
  };
  readonly closed: boolean;
  stats(): BatcherStats;
}

export type BatcherInstruments = Instruments<typeof BATCHER_SERIES>;

interface Watched {
  readonly batcher: WeakRef<ReadBatcher>;
  readonly attributes: Attributes;
  /** The attributes as text. */
  readonly labels: string;
}

/** The sums over the batchers of a group. */
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
  costLimit = 0;
  /** Undefined where no batcher has a target. */
  capacity: number | undefined;

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
    const target = stats.learned?.target;
    if (target !== undefined) this.capacity = (this.capacity ?? 0) + target.capacityPerSecond;
    this.costLimit = Math.max(this.costLimit, stats.learned?.maxBatchCost ?? Number(options.maxBatchCost));
  }
}

/** Batchers with the same labels share series. */
interface Group {
  readonly attributes: Attributes;
  readonly sums: Sums;
}

/** The instruments of one meter, and the batchers that they read. */
export class BatcherMetrics {
  readonly instruments: BatcherInstruments;
  readonly errorTypes: ErrorTypes = new ErrorTypes();
  readonly #watched: Set<Watched> = new Set();
  readonly #writer: GaugeWriter = new GaugeWriter();

  constructor(meter: Meter) {
    this.instruments = makeInstruments(meter, BATCHER_SERIES);
    meter.addBatchObservableCallback(
      (result) => {
        this.#writer.write(result, (tell) => {
          for (const group of this.#read()) this.#tell(tell, group);
        });
      },
      observedOf(BATCHER_SERIES, this.instruments),
    );
  }

  /**
   * Reads the batcher until the returned function is called, or until the batcher is closed and
   * idle.
   */
  watch(batcher: ReadBatcher, attributes: Attributes): () => void {
    const watched = { batcher: new WeakRef(batcher), attributes, labels: labelsText(attributes) };
    this.#watched.add(watched);
    return () => {
      this.#watched.delete(watched);
    };
  }

  #read(): Iterable<Group> {
    const groups = new Map<string, Group>();
    for (const watched of this.#watched) {
      const { attributes, labels } = watched;
      const batcher = watched.batcher.deref();
      const stats = batcher?.stats();
      if (batcher !== undefined && stats !== undefined) {
        const group = groups.get(labels) ?? { attributes, sums: new Sums() };
        groups.set(labels, group);
        group.sums.add(batcher, stats);
      }
      if (stats === undefined || (batcher?.closed && isAtRest(stats))) this.#watched.delete(watched);
    }
    return groups.values();
  }

  #tell(tell: TellGauge, { attributes, sums: now }: Group): void {
    const { instruments: to } = this;
    tell(to.waiting, now.waiting, attributes);
    tell(to.blocked, now.blocked, attributes);
    tell(to.running, now.running, attributes);
    tell(to.runningBatches, now.runningBatches, attributes);
    tell(to.oldestWait, toSeconds(now.oldestWaitMs), attributes);
    tell(to.utilization, now.lifeMs > 0 ? now.busyMs / now.lifeMs : 0, attributes);
    if (now.queueLimit < Infinity) tell(to.queueLimit, now.queueLimit, attributes);
    if (now.costLimit < Infinity) tell(to.costLimit, now.costLimit, attributes);
    if (now.capacity !== undefined) tell(to.capacity, now.capacity, attributes);
    if (now.slots < Infinity) tell(to.slots, now.slots, attributes);
  }
}

/** Returns the same object for each call with the same meter. */
export function batcherMetricsOf(meter: Meter): BatcherMetrics {
  return ofMeter(meter, "batchers", (own) => new BatcherMetrics(own));
}

function isAtRest({ waiting, blocked, running }: BatcherStats): boolean {
  return waiting + blocked + running === 0;
}
