// Metrics and spans of a dispatcher.

import type { Attributes, Meter } from "@opentelemetry/api";
import { check, objectWith } from "../core/contract/validate.ts";
import type { DispatcherEventName, DispatcherListener } from "../dispatch/contract/events.ts";
import { countEvents } from "./dispatcher-counters.ts";
import { DispatcherGauges, type InstrumentedDispatcher } from "./dispatcher-gauges.ts";
import { dispatcherMetricsOf } from "./dispatcher-metrics.ts";
import { recordBatch } from "./dispatcher-spans.ts";
import { join } from "./joined.ts";
import { type Detach, detachAll, type InstrumentDispatcherOptions, resolveTelemetry } from "./options.ts";

const aDispatcher = objectWith("on", "stats");

/**
 * Adds OpenTelemetry metrics and spans to a dispatcher; docs/metrics.md lists the series. Counters
 * count the work of this process: add them up. Gauges show the whole store, in each process whose
 * loops run: take the maximum. The process that ends a batch records its span then.
 *
 * When the dispatcher stops, its gauges become 0: other processes may still work on the store.
 *
 * Dispatchers with the same meter and `attributes` share series, and a gauge shows the largest of
 * their values. Give dispatchers of different stores different `attributes`. A dispatcher that is
 * instrumented again with the same meter or tracer and the same `attributes` is observed once, with
 * the first `tenantLabel`, until all returned functions have been called.
 *
 * Instrument each process that runs the loops. It costs one read of the store's open batches and
 * one of its statistics every ten seconds, and one more read of a batch's members when the batch
 * ends.
 *
 * @param dispatcher the return value of `createDispatcher`, before or after `start`.
 * @param options the meter and tracer, and their labels.
 * @returns a function that ends the instrumentation; it is also a `Disposable`.
 * @throws TypeError with `code: "INVALID_OPTION"` for a value that is not a dispatcher, an unknown
 * option, or an option of the wrong type.
 *
 * @example
 * ```ts
 * import { createDispatcher, memoryStore, type Account } from "batchwise/dispatch";
 * import { instrumentDispatcher } from "batchwise/otel";
 *
 * async function run(account: Account): Promise<void> {
 *   const dispatcher = createDispatcher({ store: memoryStore(), accounts: [account] });
 *   instrumentDispatcher(dispatcher);
 *   await dispatcher.start();
 * }
 * ```
 */
export function instrumentDispatcher(
  dispatcher: InstrumentedDispatcher,
  options?: InstrumentDispatcherOptions,
): Detach {
  const { meter, tracer, tracerId, hasLabel, attributes } = resolveTelemetry(options, "tenantLabel", true);
  check("dispatcher", aDispatcher, dispatcher);
  const ends: (() => void)[] = [];
  if (meter !== null) {
    ends.push(join(dispatcher, meter, attributes, () => countAll(dispatcher, meter, attributes, hasLabel)));
  }
  if (tracer !== null) {
    const listen = () => dispatcher.on("batch", (event) => recordBatch(tracer, event, attributes));
    ends.push(join(dispatcher, tracerId, attributes, listen));
  }
  return detachAll(ends);
}

function countAll(
  dispatcher: InstrumentedDispatcher,
  meter: Meter,
  attributes: Attributes,
  hasTenant: boolean,
): () => void {
  const ends: (() => void)[] = [];
  const on = <Name extends DispatcherEventName>(event: Name, listener: DispatcherListener<Name>): void => {
    ends.push(dispatcher.on(event, listener));
  };
  const metrics = dispatcherMetricsOf(meter);
  countEvents({ on, to: metrics.counters, attributes, hasTenant, types: metrics.errorTypes });
  const gauges = new DispatcherGauges(dispatcher, attributes, metrics.gauges);
  const hide = metrics.show(gauges);
  on("loops", ({ running }) => (running ? gauges.started() : hide()));
  on("lanes", (event) => gauges.lanes(event));
  on("batches", (event) => gauges.batches(event));
  ends.push(hide);
  return detachAll(ends);
}
