// Runs a scenario at each of its loads, with one set of options or two.

import { type SimulationReport, simulate } from "batchwise/simulate";
import { CommandError } from "../common/failures.ts";
import {
  asUsage,
  completeScenario,
  EXAMPLE,
  type OptionSet,
  runAt,
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
  /** Sweeps of the options, and of the options compared with them. */
  readonly sweeps: readonly Sweep[];
}

/** Simulates a scenario. `begun` is called before each run. */
export async function sweepAll(given: ScenarioFile, begun: (load: number) => void): Promise<Simulation> {
  await checkScenario(given);
  const scenario = await completeScenario(given, capacityOf);
  const sets = [scenario.options, ...(scenario.compare === undefined ? [] : [scenario.compare])];
  const sweeps: Sweep[] = [];
  for (const options of sets) sweeps.push(await sweep(scenario, options, begun));
  return { scenario, sweeps };
}

/** Items of the first nanosecond, which are few. */
const SHORTEST_MS = 1e-6;
const ONE = { kind: "times", atMs: [0] } as const;

/** Refuses what `simulate` refuses, before anything is computed from it. */
async function checkScenario({ arrivals = ONE, service = EXAMPLE, options, compare }: ScenarioFile): Promise<void> {
  for (const set of [options, compare]) {
    await asUsage(() => simulate({ arrivals, service, options: set, durationMs: SHORTEST_MS }));
  }
}

/** The rate that can be served within the target, by the bound of a short run. */
async function capacityOf({ service, options, targetMs }: Served): Promise<number> {
  const { bound } = await asUsage(() => simulate({ arrivals: ONE, service, options, targetMs, durationMs: 1 }));
  if (bound.capacityPerSecond === Infinity) {
    throw new CommandError("A call takes no time, so there is no most that can be served: name --rate");
  }
  if (bound.capacityPerSecond > 0) return bound.capacityPerSecond;
  throw new CommandError(
    `No item can be answered within ${targetMs} ms if it may have to wait for a run: name a longer --target-ms, or --rate`,
  );
}

async function sweep(scenario: Scenario, options: OptionSet, begun: (load: number) => void): Promise<Sweep> {
  const { service, targetMs, seed, retries, loads } = scenario;
  const points: Point[] = [];
  for (const load of loads) {
    begun(load);
    const run = { service, options, targetMs, seed, ...retries, ...runAt(scenario, load) };
    const report = await asUsage(() => simulate(run));
    points.push({ load, report });
  }
  return { options, points };
}
