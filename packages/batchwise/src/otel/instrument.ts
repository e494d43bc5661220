// Metrics and spans of a batcher.

import { OBSERVE, type Observable } from "../core/contract/observer.ts";
import type { BatcherStats } from "../core/contract/stats.ts";
import { invalidOption } from "../core/contract/validate.ts";
import { BatcherObserver } from "./batcher-observer.ts";
import { BATCHER_LABELS } from "./batcher-series.ts";
import { batcherMetricsOf, type ReadBatcher } from "./batcher-totals.ts";
import { observe } from "./observers.ts";
import { type Detach, detachAll, type InstrumentOptions, resolveTelemetry } from "./options.ts";

/** Any batcher of this package: of `batch`, `createBatcher`, `batchStream`, `batchTensors`, `batcherOf` and the others. */
export interface InstrumentedBatcher extends ReadBatcher {
  stats(): BatcherStats;
}

/**
 * Gives a batcher metrics and spans of OpenTelemetry, under the option `name` of the batcher as label. The series are
 * listed in docs/metrics.md; durations are in seconds.
 *
 * Each batch has a span that begins a trace of its own, links to the spans that were active in its callers' submits, and
 * is active while the handler runs. Batchers of one name share series. One that is not used any more needs no detaching.
 *
 * Set the SDK up first: a meter provider that is registered later is not seen. (A tracer provider is.)
 *
 * @param batcher any batcher of this package in this thread; of a connection to another thread, instrument the batcher there.
 * @param options where metrics and spans go, and their labels.
 * @returns a function that ends it, which is a `Disposable` too. Batches that run then are still told to their end.
 * @throws TypeError with `code: "INVALID_OPTION"` for what is not a batcher, an unknown option, or one of the wrong type.
 *
 * @example
 * ```ts
 * import { batch } from "batchwise";
 * import { instrument } from "batchwise/otel";
 *
 * const embed = batch(async (texts: string[]) => texts.map((text) => text.length), { name: "embed" });
 * const detach = instrument(embed);
 * await embed("a text");
 * detach();
 * ```
 */
export function instrument(batcher: InstrumentedBatcher, options?: InstrumentOptions): Detach {
  const { meter, tracer, hasLabel, attributes: given } = resolveTelemetry(options, "keyLabel", false);
  const observable = batcher as Partial<Observable> & InstrumentedBatcher;
  if (typeof observable?.[OBSERVE] !== "function") {
    throw invalidOption(TypeError, "Expected `batcher` to be a batcher of this thread, made by this package");
  }
  const attributes = { ...given, [BATCHER_LABELS.name]: batcher.options.name };
  const metrics = meter === null ? null : batcherMetricsOf(meter);
  const observer = new BatcherObserver({
    options: () => batcher.options,
    instruments: metrics?.instruments ?? null,
    tracer,
    hasLabel,
    attributes,
  });
  const ends = [observe(observable as Observable, observer)];
  if (metrics !== null) ends.push(metrics.watch(batcher, attributes));
  return detachAll(ends);
}
