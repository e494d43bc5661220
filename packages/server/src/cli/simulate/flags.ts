// The flags of `batchwise simulate`: their parsers, and the scenario that they make with a file.

import type { Arrivals, Service } from "batchwise/simulate";
import { type Command, InvalidArgumentError } from "commander";
import { integerFrom } from "../common/arguments.ts";
import { CommandError } from "../common/failures.ts";
import { EXAMPLE, type OptionSet, type ScenarioFile } from "./scenario.ts";

export interface SimulateFlags {
  readonly fixedMs?: number;
  readonly itemMs?: number;
  readonly runMs?: Service;
  readonly noise?: number;
  readonly rate?: number;
  readonly arrivals: "poisson" | "bursts" | "bunches";
  readonly bunchSize: number;
  readonly targetMs?: number;
  readonly seconds?: number;
  readonly seed?: number;
  readonly attempts?: number;
  readonly loads?: readonly number[];
  readonly compare?: OptionSet;
  readonly html?: string;
  readonly json?: true;
}

/** The flags of the batcher's options, by option. */
export const OPTIONS: Readonly<
  Record<string, readonly [flag: string, parse: (text: string) => string | number, words: string]>
> = {
  maxBatchSize: ["--max-batch-size <count>", integerFrom(1), "cap on a batch's items (default: 32)"],
  maxWaitMs: ["--max-wait-ms <ms>", numberFrom(0), "how long an item may wait for a fuller batch (default: 0)"],
  concurrency: ["--concurrency <count>", integerFrom(1), "batches that run at the same time (default: 1)"],
  maxQueueSize: ["--max-queue-size <count>", integerFrom(1), "items that may wait (default: 10000)"],
  onFull: [
    "--on-full <what>",
    oneOf("wait", "reject", "drop-oldest"),
    'a full queue: "wait", "reject" or "drop-oldest"',
  ],
  timeoutMs: ["--timeout-ms <ms>", aboveZero, "deadline of an item (default: none)"],
  targetLatencyMs: [
    "--target-latency-ms <ms>",
    aboveZero,
    "answer items within so long, refuse the others (default: none)",
  ],
};

/** The scenario of the file, overridden by the flags. */
export function merged(file: ScenarioFile, flags: SimulateFlags, command: Command): ScenarioFile {
  const { targetMs, seconds, seed, attempts, loads, compare } = flags;
  const service = serviceOf(flags, file.service);
  const arrivals = arrivalsOf(flags, file.arrivals, command);
  const given = command.opts<Record<string, string | number>>();
  const named = Object.keys(OPTIONS).filter((name) => given[name] !== undefined);
  const options = {
    ...file.options,
    ...Object.fromEntries(named.map((name) => [name, given[name] as string | number])),
  };
  const durationMs = seconds === undefined ? undefined : 1_000 * seconds;
  const own = { service, arrivals, targetMs, durationMs, seed, attempts, loads };
  const set = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  // The compared options start from the options of the file and the flags, and override them.
  const beside = compare ?? file.compare;
  return { ...file, ...set, options, ...(beside === undefined ? {} : { compare: { ...options, ...beside } }) };
}

/** A line that the flags describe only in part has the rest of the file's, or of the example. */
function serviceOf(flags: SimulateFlags, file: Service | undefined): Service | undefined {
  const { fixedMs, itemMs, runMs, noise } = flags;
  const isLine = fixedMs !== undefined || itemMs !== undefined;
  if (runMs !== undefined && isLine) {
    throw new CommandError("Expected either --run-ms, or --fixed-ms and --item-ms, got both");
  }
  const noisy = noise === undefined ? {} : { noise };
  if (runMs !== undefined) return { noise: 0.1, ...runMs, ...noisy };
  if (!isLine) return noise === undefined ? file : { ...(file ?? EXAMPLE), ...noisy };
  const rest = file?.kind === "line" ? file : EXAMPLE;
  return { ...rest, fixedMs: fixedMs ?? rest.fixedMs, itemMs: itemMs ?? rest.itemMs, ...noisy };
}

function arrivalsOf(flags: SimulateFlags, file: Arrivals | undefined, command: Command): Arrivals | undefined {
  const { rate, arrivals: kind, bunchSize: size } = flags;
  const isGiven = (flag: string): boolean => command.getOptionValueSource(flag) === "cli";
  const rated = rate === undefined ? {} : { perSecond: rate };
  const keepsKind = file !== undefined && !isGiven("arrivals") && (rate === undefined || "perSecond" in file);
  if (isGiven("bunchSize") && (keepsKind ? file.kind : kind) !== "bunches") {
    throw new CommandError("Expected --arrivals bunches beside --bunch-size");
  }
  if (keepsKind) return { ...file, ...rated, ...(isGiven("bunchSize") ? { size } : {}) } as Arrivals;
  if (rate !== undefined) return kind === "bunches" ? { kind, perSecond: rate, size } : { kind, perSecond: rate };
  if (!isGiven("arrivals")) return undefined;
  throw new CommandError("Expected --rate, the items a second at load 1, beside --arrivals");
}

// Parsers of values.

export function numberFrom(minimum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && value >= minimum && value < Infinity) return value;
    throw new InvalidArgumentError(`Expected a number >= ${minimum}.`);
  };
}

const LARGEST_NOISE = 5;

export function noiseShare(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= LARGEST_NOISE) return value;
  throw new InvalidArgumentError(`Expected a number from 0 to ${LARGEST_NOISE}: 0.1 is 10 %.`);
}

export function aboveZero(text: string): number {
  const value = Number(text);
  if (value > 0 && value < Infinity) return value;
  throw new InvalidArgumentError("Expected a number > 0.");
}

function oneOf(...choices: readonly string[]): (text: string) => string {
  return (text) => {
    if (choices.includes(text)) return text;
    throw new InvalidArgumentError(`Expected one of ${choices.join(", ")}.`);
  };
}

export function loadList(text: string): number[] {
  return text.split(",").map(aboveZero);
}

export function points(text: string): Service {
  const pairs = text.split(",").map((pair) => {
    const [size, ms] = pair.split(":").map(Number);
    if (size !== undefined && ms !== undefined && size > 0 && ms > 0 && pair.split(":").length === 2)
      return [size, ms] as const;
    throw new InvalidArgumentError("Expected sizes and milliseconds, such as 1:12,8:15,64:60.");
  });
  if (new Set(pairs.map(([size]) => size)).size < pairs.length) {
    throw new InvalidArgumentError("Expected each size once: give the mean of its times.");
  }
  return { kind: "table", points: [...pairs].sort(([a], [b]) => a - b) };
}

/** Names are names of flags or of options. */
export function optionSet(text: string): OptionSet {
  const pairs = text.split(",").map((pair) => {
    const [given = "", value = ""] = pair.split("=");
    const name = given.replace(/^--/, "").replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    const known = OPTIONS[name];
    if (known === undefined || value === "") {
      throw new InvalidArgumentError(`Expected name=value with a name of ${Object.keys(OPTIONS).join(", ")}.`);
    }
    return [name, known[1](value)] as const;
  });
  return Object.fromEntries(pairs);
}
