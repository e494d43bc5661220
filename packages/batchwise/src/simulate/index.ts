// The public API of "batchwise/simulate": names only.

export type { Clock } from "../core/time/clock.ts";
export type { Arrivals } from "./arrivals.ts";
export type { SimulateOptions, SimulationBatcherOptions } from "./options.ts";
export type { SimulationBound, SimulationQuantiles, SimulationReport } from "./report.ts";
export type { Service, ServiceShape, ServiceTroubles, SimulatedBatch } from "./service.ts";
export { simulate } from "./simulate.ts";
