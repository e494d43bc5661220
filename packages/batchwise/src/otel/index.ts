// The entry "batchwise/otel": names only. Its only outside import is `@opentelemetry/api`, an
// optional peer dependency.

export type { InstrumentedDispatcher } from "./dispatcher-gauges.ts";
export { type InstrumentedBatcher, instrument } from "./instrument.ts";
export { instrumentDispatcher } from "./instrument-dispatcher.ts";
export type { Detach, InstrumentDispatcherOptions, InstrumentOptions, TelemetryOptions } from "./options.ts";
