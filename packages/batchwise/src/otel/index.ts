// The entry "batchwise/otel": names only. Its one import from outside is the optional peer
// @opentelemetry/api.

export type { InstrumentedDispatcher } from "./dispatcher-gauges.ts";
export { type InstrumentedBatcher, instrument } from "./instrument.ts";
export { instrumentDispatcher } from "./instrument-dispatcher.ts";
export type { Detach, InstrumentDispatcherOptions, InstrumentOptions, TelemetryOptions } from "./options.ts";
