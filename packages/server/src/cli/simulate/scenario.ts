// What is simulated: flags, or a JSON file, or both, made into one scenario that `simulate` runs
// at several loads.

import type { Arrivals, Service, SimulateOptions } from "batchwise/simulate";
import { CommandError } from "../common/failures.ts";

/** The batcher options that a scenario may have: options that are plain data. */
export type OptionSet = Readonly<Record<string, string | number>>;

/** The part of a scenario that a file may have. Names and units are the same as for `simulate`. */
export interface ScenarioFile {
  readonly service?: Service;
  readonly arrivals?: Arrivals;
  readonly options?: OptionSet;
  /** A second set of options, simulated with the same arrivals. */
  readonly compare?: OptionSet;
  readonly targetMs?: number;
  readonly durationMs?: number;
  readonly warmUpMs?: number;
  readonly seed?: number;
  readonly attempts?: number;
  readonly retryMs?: number;
  /** Multiples of the arrivals. */
  readonly loads?: readonly number[];
}

export interface Scenario extends Required<Omit<ScenarioFile, "compare" | "retryMs" | "attempts">> {
  readonly compare: OptionSet | undefined;
  readonly retries: Pick<SimulateOptions, "attempts" | "retryMs">;
  /** False for the example that runs when nothing is described. */
  readonly isDescribed: boolean;
}

/** What decides how much can be served. */
export type Served = Pick<Scenario, "service" | "options" | "targetMs">;

const FIELDS: readonly (keyof ScenarioFile)[] = [
  ...(["service", "arrivals", "options", "compare", "targetMs", "durationMs"] as const),
  ...(["warmUpMs", "seed", "attempts", "retryMs", "loads"] as const),
];

const OBJECTS: ReadonlySet<string> = new Set(["service", "arrivals", "options", "compare"]);

const LOADS: readonly number[] = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2];
/** The service that is simulated where none is described. */
export const EXAMPLE = { kind: "line", fixedMs: 20, itemMs: 1, noise: 0.1 } as const;
const DEFAULT_TARGET_MS = 200;
/** Approximate number of items in a run of default length. */
const ITEMS = 300_000;
const [SHORTEST_MS, LONGEST_MS] = [500, 30_000];
const WARM_UP = 0.1;

/** Reads the text of a scenario file. */
export function parseScenario(text: string, path: string): ScenarioFile {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw new CommandError(`Expected ${path} to be JSON: ${(error as Error).message}`);
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new CommandError(`Expected ${path} to hold an object with \`service\`, \`arrivals\` and \`options\``);
  }
  const fields = Object.entries(given);
  const flat = fields.find(([name, value]) => OBJECTS.has(name) && (typeof value !== "object" || value === null));
  if (flat !== undefined) throw new CommandError(`Expected \`${flat[0]}\` in ${path} to be an object`);
  const unknown = Object.keys(given).find((name) => !FIELDS.includes(name as keyof ScenarioFile));
  if (unknown !== undefined) {
    throw new CommandError(`Unknown field \`${unknown}\` in ${path}; expected one of ${FIELDS.join(", ")}`);
  }
  const { loads } = given as ScenarioFile;
  const isList =
    Array.isArray(loads) && loads.length > 0 && loads.every((load) => typeof load === "number" && load > 0);
  if (loads !== undefined && !isList)
    throw new CommandError(`Expected \`loads\` in ${path} to be a list of numbers > 0`);
  return given;
}

/**
 * Fills in the missing fields, such as service, arrivals and options for `simulate`. `capacityOf`:
 * the rate that a service with options can serve.
 */
export async function completeScenario(
  given: ScenarioFile,
  capacityOf: (served: Served) => Promise<number>,
): Promise<Scenario> {
  const { service = EXAMPLE, options = {}, compare, loads = LOADS, seed = 1, attempts, retryMs } = given;
  const targetMs = given.targetMs ?? targetOf(options) ?? targetOf(compare ?? {}) ?? DEFAULT_TARGET_MS;
  const arrivals = given.arrivals ?? {
    kind: "poisson" as const,
    perSecond: rounded(await capacityOf({ service, options, targetMs })),
  };
  const durationMs = given.durationMs ?? durationOf(arrivals, loads);
  return {
    ...{ service, arrivals, options, compare, loads, seed, targetMs, durationMs },
    warmUpMs: given.warmUpMs ?? (arrivals.kind === "times" ? 0 : WARM_UP * durationMs),
    retries: { attempts, retryMs },
    isDescribed: given.service !== undefined,
  };
}

/** Long enough for every time of a list, or for as many items as give steady figures. */
function durationOf(arrivals: Arrivals, loads: readonly number[]): number {
  if (arrivals.kind === "times") return (arrivals.atMs.at(-1) ?? 0) + 1;
  const ownMs = (1_000 * ITEMS) / ((rateOf(arrivals) ?? 1_000) * loads.reduce((sum, load) => sum + load, 0));
  return Math.round(Math.min(LONGEST_MS, Math.max(SHORTEST_MS, ownMs)));
}

function targetOf({ targetLatencyMs, timeoutMs }: OptionSet): number | undefined {
  const given = [targetLatencyMs, timeoutMs].filter((ms) => typeof ms === "number");
  return given.length === 0 ? undefined : Math.min(...given);
}

/** Two digits, so that it can be said. */
function rounded(perSecond: number): number {
  return Number(perSecond.toPrecision(2));
}

/** The mean rate of arrivals; undefined if it depends on the answers. */
export function rateOf(arrivals: Arrivals): number | undefined {
  if ("perSecond" in arrivals) return arrivals.perSecond;
  if (arrivals.kind !== "curve") return undefined;
  return arrivals.points.reduce((most, [, rate]) => Math.max(most, rate), 0);
}

/** True if items arrive independently of each other and of answers: the bound holds for these. */
export function isIndependent({ kind }: Arrivals): boolean {
  return kind === "poisson" || kind === "bursts" || kind === "curve";
}

/** The run at a multiple of the load. A list of times that is played faster ends sooner. */
export function runAt(
  { arrivals, durationMs, warmUpMs }: Scenario,
  load: number,
): Pick<SimulateOptions, "arrivals" | "durationMs" | "warmUpMs"> {
  const speed = arrivals.kind === "times" ? load : 1;
  return { arrivals: arrivalsAt(arrivals, load), durationMs: durationMs / speed, warmUpMs: warmUpMs / speed };
}

/** The arrivals at a multiple of their load. */
export function arrivalsAt(arrivals: Arrivals, load: number): Arrivals {
  switch (arrivals.kind) {
    case "curve":
      return { ...arrivals, points: arrivals.points.map(([atMs, rate]) => [atMs, rate * load] as const) };
    case "times":
      return { ...arrivals, atMs: arrivals.atMs.map((at) => at / load) };
    case "closed":
      return { ...arrivals, callers: Math.max(1, Math.round(arrivals.callers * load)) };
    default:
      return { ...arrivals, perSecond: arrivals.perSecond * load };
  }
}

/** Turns errors of options into errors of the command line. */
export async function asUsage<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "INVALID_OPTION")) throw error;
    throw new CommandError(error.message);
  }
}
