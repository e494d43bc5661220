// What happens in a batcher, told to instruments and spans.

import type { Attributes } from "@opentelemetry/api";
import type { BatchEvent } from "../core/contract/events.ts";
import type { BatchWatch } from "../core/contract/observer.ts";
import type { ItemOutcome } from "../core/contract/outcome.ts";
import { activeSpan, BatchSpan } from "./batch-spans.ts";
import { BATCHER_LABELS } from "./batcher-series.ts";
import type { BatcherInstruments, ReadBatcher } from "./batcher-totals.ts";
import { errorType } from "./error-type.ts";
import type { Observer, StartedBatch } from "./observers.ts";
import type { ResolvedTelemetry } from "./options.ts";
import { toSeconds } from "./series.ts";

/** What is told, and to whom. */
export interface ObserverParts extends Pick<ResolvedTelemetry, "tracer" | "hasLabel" | "attributes"> {
  readonly options: () => ReadBatcher["options"];
  readonly instruments: BatcherInstruments | null;
}

export class BatcherObserver implements Observer {
  readonly capture: (() => unknown) | undefined;
  readonly #parts: ObserverParts;

  constructor(parts: ObserverParts) {
    this.#parts = parts;
    this.capture = parts.tracer === null ? undefined : activeSpan;
  }

  started(batch: StartedBatch): BatchWatch {
    const { instruments, tracer, attributes, hasLabel, options } = this.#parts;
    const own = hasLabel && batch.key !== undefined ? { ...attributes, [BATCHER_LABELS.key]: batch.key } : attributes;
    if (instruments !== null) recordStart(instruments, batch, own, fillOf(batch, options()));
    const span = tracer === null ? null : new BatchSpan(tracer, options().name, batch, attributes);
    return new ObservedBatch(instruments, span, own);
  }

  settled(outcome: ItemOutcome, latencyMs: number, times: number): void {
    const { instruments, attributes } = this.#parts;
    if (instruments === null) return;
    const own = { ...attributes, [BATCHER_LABELS.outcome]: outcome };
    instruments.settled.add(times, own);
    for (let time = 0; time < times; time += 1) instruments.itemDuration.record(toSeconds(latencyMs), own);
  }

  spared(by: "dedupe" | "cache", callers: number): void {
    const { instruments, attributes } = this.#parts;
    if (by === "dedupe") instruments?.deduped.add(callers, attributes);
    else instruments?.cacheHits.add(callers, attributes);
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

/** An item above `maxBatchCost` goes alone and fills its batch. */
function fillOf({ size, cost }: StartedBatch, { maxBatchSize, maxBatchCost }: ReadBatcher["options"]): number {
  const byCost = typeof maxBatchCost === "number" && maxBatchCost < Infinity ? cost / maxBatchCost : 0;
  return Math.min(1, Math.max(size / maxBatchSize, byCost));
}

class ObservedBatch implements BatchWatch {
  readonly #instruments: BatcherInstruments | null;
  readonly #span: BatchSpan | null;
  readonly #attributes: Attributes;

  constructor(instruments: BatcherInstruments | null, span: BatchSpan | null, attributes: Attributes) {
    this.#instruments = instruments;
    this.#span = span;
    this.#attributes = attributes;
  }

  around<Answer>(call: () => Answer): Answer {
    this.#instruments?.calls.add(1, this.#attributes);
    return this.#span === null ? call() : this.#span.around(call);
  }

  ended(event: BatchEvent): void {
    const { error, runMs } = event;
    const failed = error === undefined ? {} : { [BATCHER_LABELS.error]: errorType(error) };
    this.#instruments?.run.record(toSeconds(runMs), { ...this.#attributes, ...failed });
    this.#span?.ended(event);
  }
}
