// Records the events of a batcher with instruments.

import type { Attributes } from "@opentelemetry/api";
import type { BatchEvent } from "../core/contract/events.ts";
import type { BatchWatch } from "../core/contract/observer.ts";
import type { ItemOutcome } from "../core/contract/outcome.ts";
import { BATCHER_LABELS } from "./batcher-series.ts";
import type { BatcherInstruments, ReadBatcher } from "./batcher-totals.ts";
import type { ErrorTypes } from "./error-type.ts";
import type { Observer, StartedBatch } from "./observers.ts";
import type { ResolvedTelemetry } from "./options.ts";
import { toSeconds } from "./series.ts";

/** The batcher's options, the instruments and the labels. */
export interface ObserverParts extends Pick<ResolvedTelemetry, "hasLabel" | "attributes"> {
  readonly options: () => ReadBatcher["options"];
  readonly instruments: BatcherInstruments;
  readonly errorTypes: ErrorTypes;
}

export class MetricsObserver implements Observer {
  readonly capture: undefined;
  readonly #parts: ObserverParts;

  constructor(parts: ObserverParts) {
    this.#parts = parts;
  }

  started(batch: StartedBatch): BatchWatch {
    const { attributes, hasLabel, options, instruments } = this.#parts;
    const own = hasLabel && batch.key !== undefined ? { ...attributes, [BATCHER_LABELS.key]: batch.key } : attributes;
    recordStart(instruments, batch, own, fillOf(batch, options()));
    return new CountedBatch(this.#parts, own);
  }

  settled(outcome: ItemOutcome, latencyMs: number, times: number, error?: unknown): void {
    const { instruments, attributes, errorTypes } = this.#parts;
    const own = { ...attributes, [BATCHER_LABELS.outcome]: outcome };
    const isRefused = outcome === "rejected" && error !== undefined;
    instruments.settled.add(times, isRefused ? { ...own, [BATCHER_LABELS.error]: errorTypes.of(error) } : own);
    for (let time = 0; time < times; time += 1) instruments.itemDuration.record(toSeconds(latencyMs), own);
  }

  spared(by: "dedupe" | "cache", callers: number): void {
    const { instruments, attributes } = this.#parts;
    if (by === "dedupe") instruments.deduped.add(callers, attributes);
    else instruments.cacheHits.add(callers, attributes);
  }
}

function recordStart(
  { itemWait, batchWait, size, cost, fill, started }: BatcherInstruments,
  batch: StartedBatch,
  attributes: Attributes,
  filled: number,
): void {
  for (const waitedMs of batch.waitedMs) itemWait.record(toSeconds(waitedMs), attributes);
  batchWait.record(toSeconds(batch.waitMs), attributes);
  size.record(batch.size, attributes);
  cost.record(batch.cost, attributes);
  fill.record(filled, attributes);
  started.add(1, { ...attributes, [BATCHER_LABELS.reason]: batch.reason });
}

/** An item above `maxBatchCost` runs without others and fills its batch. */
function fillOf({ size, cost }: StartedBatch, { maxBatchSize, maxBatchCost }: ReadBatcher["options"]): number {
  const byCost = typeof maxBatchCost === "number" && maxBatchCost < Infinity ? cost / maxBatchCost : 0;
  return Math.min(1, Math.max(size / maxBatchSize, byCost));
}

class CountedBatch implements BatchWatch {
  readonly #instruments: BatcherInstruments;
  readonly #types: ErrorTypes;
  readonly #attributes: Attributes;

  constructor({ instruments, errorTypes }: ObserverParts, attributes: Attributes) {
    this.#instruments = instruments;
    this.#types = errorTypes;
    this.#attributes = attributes;
  }

  around<Answer>(call: () => Answer): Answer {
    this.#instruments.calls.add(1, this.#attributes);
    return call();
  }

  /** Batchers of older copies of the package predict no times. */
  ended({ error, runMs, predictedMs = null }: BatchEvent): void {
    const failed = error === undefined ? {} : { [BATCHER_LABELS.error]: this.#types.of(error) };
    this.#instruments.run.record(toSeconds(runMs), { ...this.#attributes, ...failed });
    if (error !== undefined || predictedMs === null) return;
    this.#instruments.runRatio.record(runMs / predictedMs, this.#attributes);
  }
}
