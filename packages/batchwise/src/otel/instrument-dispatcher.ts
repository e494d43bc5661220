// Metrics and spans of a dispatcher.

import { check, objectWith } from "../core/contract/validate.ts";
import type { DispatcherEventName, DispatcherListener } from "../dispatch/contract/events.ts";
import { countEvents } from "./dispatcher-counters.ts";
import { DispatcherGauges, type InstrumentedDispatcher } from "./dispatcher-gauges.ts";
import { DISPATCHER_SERIES } from "./dispatcher-series.ts";
import { recordBatch } from "./dispatcher-spans.ts";
import { type Detach, detachAll, type InstrumentDispatcherOptions, resolveTelemetry } from "./options.ts";
import { makeInstruments } from "./series.ts";

const aDispatcher = objectWith("on", "stats");

/**
 * Gives a dispatcher metrics and spans of OpenTelemetry; the series are listed in docs/metrics.md. Counters say what this
 * process has done: add them up. Gauges say what the whole store shows, in each process whose loops run: take the
 * maximum. A span of each batch is recorded when it ends, by the process that ends it.
 *
 * Instrument each process that runs the loops. Listening costs a look at the store's open batches every ten seconds, its
 * statistics as often, and reading the members of each batch once more when it ends.
 *
 * @param dispatcher what `createDispatcher` returned, before or after `start`.
 * @param options where metrics and spans go, and their labels.
 * @returns a function that ends it, which is a `Disposable` too.
 * @throws TypeError with `code: "INVALID_OPTION"` for what is not a dispatcher, an unknown option, or one of the wrong type.
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
  const { meter, tracer, hasLabel, attributes } = resolveTelemetry(options, "tenantLabel", true);
  check("dispatcher", aDispatcher, dispatcher);
  const ends: (() => void)[] = [];
  const on = <Name extends DispatcherEventName>(event: Name, listener: DispatcherListener<Name>): void => {
    ends.push(dispatcher.on(event, listener));
  };
  if (meter !== null) {
    countEvents({ on, to: makeInstruments(meter, DISPATCHER_SERIES), attributes, hasTenant: hasLabel });
    const gauges = new DispatcherGauges(meter, dispatcher, attributes);
    on("lanes", (event) => gauges.lanes(event));
    on("batches", (event) => gauges.batches(event));
    ends.push(() => gauges.close());
  }
  if (tracer !== null) on("batch", (event) => recordBatch(tracer, event, attributes));
  return detachAll(ends);
}
