/** The engine with a latency target, in virtual time. */
import { type SimulationReport, simulate } from "batchwise/simulate";
import type { Wanted } from "./load.ts";

export async function runEngine(
  { service, arrivals, durationMs, warmUpMs, slots, noise, seed, changes }: Wanted,
  options: Readonly<Record<string, unknown>> = { targetLatencyMs: service.targetMs },
): Promise<SimulationReport> {
  return await simulate({
    arrivals,
    service: { ...service.shape, noise, ...(changes.length > 0 ? { changes } : {}) },
    options: { concurrency: slots, ...options },
    targetMs: service.targetMs,
    durationMs,
    warmUpMs,
    seed,
  });
}
