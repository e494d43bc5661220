// Runs a scenario at each of its loads, with one set of options or two.

import { type SimulationReport, simulate } from "batchwise/simulate";
import { CommandError } from "../common/failures.ts";
import {
  arrivalsAt,
  asUsage,
  completeScenario,
  type OptionSet,
  type Scenario,
  type ScenarioFile,
  type Served,
} from "./scenario.ts";

/** What a set of options does at one load. */
export interface Point {
  readonly load: number;
  readonly report: SimulationReport;
}

/** What a set of options does at all loads. */
export interface Sweep {
  readonly options: OptionSet;
  readonly points: readonly Point[];
}

export interface Simulation {
  readonly scenario: Scenario;
  /** Of the options, and of those that are compared with them. */
  readonly sweeps: readonly Sweep[];
}

/** Simulates a scenario. `begun` is called before each run. */
export async function sweepAll(given: ScenarioFile, begun: (load: number) => void): Promise<Simulation> {
  const scenario = await completeScenario(given, capacityOf);
  const sets = [scenario.options, ...(scenario.compare === undefined ? [] : [scenario.compare])];
  const sweeps: Sweep[] = [];
  for (const options of sets) sweeps.push(await sweep(scenario, options, begun));
  return { scenario, sweeps };
}

/** The rate that can be served within the target, by the bound of a short run. */
async function capacityOf({ service, options, targetMs }: Served): Promise<number> {
  const arrivals = { kind: "times", atMs: [0] } as const;
  const { bound } = await asUsage(() => simulate({ arrivals, service, options, targetMs, durationMs: 1 }));
  if (bound.capacityPerSecond > 0) return bound.capacityPerSecond;
  throw new CommandError(
    `No item can be answered within ${targetMs} ms if it may have to wait for a run: name a longer --target-ms, or --rate`,
  );
}

async function sweep(scenario: Scenario, options: OptionSet, begun: (load: number) => void): Promise<Sweep> {
  const { arrivals, service, targetMs, durationMs, warmUpMs, seed, retries, loads } = scenario;
  const points: Point[] = [];
  for (const load of loads) {
    begun(load);
    const run = { service, options, targetMs, durationMs, warmUpMs, seed, ...retries };
    const report = await asUsage(() => simulate({ ...run, arrivals: arrivalsAt(arrivals, load) }));
    points.push({ load, report });
  }
  return { options, points };
}
