// Metrics and spans of a batcher.

import { OBSERVE, type Observable } from "../core/contract/observer.ts";
import type { BatcherStats } from "../core/contract/stats.ts";
import { invalidOption } from "../core/contract/validate.ts";
import { SpansObserver } from "./batch-spans.ts";
import { BATCHER_LABELS } from "./batcher-series.ts";
import { batcherMetricsOf, type ReadBatcher } from "./batcher-totals.ts";
import { join } from "./joined.ts";
import { MetricsObserver } from "./metrics-observer.ts";
import { observe } from "./observers.ts";
import { type Detach, detachAll, type InstrumentOptions, resolveTelemetry } from "./options.ts";

/**
 * Any batcher of this package: from `batch`, `createBatcher`, `batchStream`, `batchTensors`,
 * `batcherOf` and the others.
 */
export interface InstrumentedBatcher extends ReadBatcher {
  stats(): BatcherStats;
}

/**
 * Adds OpenTelemetry metrics and spans to a batcher; its option `name` is a label. docs/metrics.md
 * lists the series; durations are in seconds.
 *
 * Each batch has a span that starts a trace of its own, links to the spans that were active in its
 * callers' submits, and is active while the handler runs. Batchers with the same name share series.
 * An unused batcher need not be detached.
 *
 * A batcher that is instrumented again with the same meter or tracer and the same `attributes` is
 * observed once, with the first `keyLabel`, until all returned functions have been called.
 *
 * Set up the SDK first: a meter provider that is registered later has no effect. (A tracer provider
 * has.)
 *
 * @param batcher any batcher of this package in this thread. For a connection to another thread,
 * instrument the batcher there.
 * @param options the meter and tracer, and their labels.
 * @returns a function that ends the instrumentation; it is also a `Disposable`. Running batches are
 * still recorded to their end.
 * @throws TypeError with `code: "INVALID_OPTION"` for a value that is not a batcher, an unknown
 * option, or an option of the wrong type.
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
  const { meter, tracer, tracerId, hasLabel, attributes: given } = resolveTelemetry(options, "keyLabel", false);
  const observable = batcher as Observable & InstrumentedBatcher;
  if (typeof (observable as Partial<Observable> | undefined)?.[OBSERVE] !== "function") {
    throw invalidOption(TypeError, "Expected `batcher` to be a batcher of this thread, made by this package");
  }
  const attributes = { ...given, [BATCHER_LABELS.name]: batcher.options.name };
  const ends: (() => void)[] = [];
  if (meter !== null) {
    const count = (): Detach => {
      const metrics = batcherMetricsOf(meter);
      const { instruments, errorTypes } = metrics;
      const parts = { instruments, errorTypes, hasLabel, attributes };
      const observer = new MetricsObserver({ options: () => batcher.options, ...parts });
      return detachAll([observe(observable, observer), metrics.watch(batcher, attributes)]);
    };
    ends.push(join(batcher, meter, attributes, count));
  }
  if (tracer !== null) {
    const { name } = batcher.options;
    const observer = (): SpansObserver => new SpansObserver(tracer, name, attributes);
    ends.push(join(batcher, tracerId, attributes, () => observe(observable, observer())));
  }
  return detachAll(ends);
}
