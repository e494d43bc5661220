/**
 * The plan of the inference benchmark: what it measures, for how long, and the total time. Pure
 * except for the count of cores.
 */
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { CAPS_COUNT } from "./bound-batches.ts";
import { MIXES } from "./mixes.ts";
import type { OwnOptions } from "./services.ts";

export const WORKERS: number = Math.max(2, availableParallelism());
export const DEFAULTS = "defaults";
export const OFF: string = settingName(WORKERS, 1);

/** A model, a number of clients, and their texts. */
export interface Cell {
  /** For example `minilm/64/mixed`. */
  readonly name: string;
  readonly kind: "cell" | "ablation";
  readonly model: string;
  readonly clients: number;
  readonly mix: string;
  /** The source of the clients' texts: one of MIXES, or a file. */
  readonly texts: string;
  readonly times: Times;
}

interface Times {
  readonly rounds: number;
  /** Warm-up of a service that learns. Others need time only to compile. */
  readonly warmUpMs: number;
  readonly shortWarmUpMs: number;
  /**
   * True if all of our services get the same load before the rounds as the grid's, because
   * compiling affects a fast model's figures.
   */
  readonly warmsEvenly: boolean;
  /** One measure in the rounds. */
  readonly roundMs: number;
  /** One trial of a setting of the grid. */
  readonly firstPassMs: number;
  /** Uncounted time before each of them. */
  readonly leadMs: number;
  /** Times for the model alone, with enough clients that batches are as large as they get. */
  readonly bound?: BoundTimes | undefined;
}

interface BoundTimes {
  readonly roundMs: number;
  /** One trial of a cut. */
  readonly lookMs: number;
  readonly leadMs: number;
}

/** The user's choices. */
export interface Wish {
  readonly quick: boolean;
  readonly ownModel?: OwnOptions | undefined;
  readonly ownTexts?: string | undefined;
}

const MODELS: Readonly<Record<string, OwnOptions>> = {
  minilm: { encoder: { layers: 6, hidden: 384, heads: 12, feedForward: 1536, vocabulary: 8_000 } },
  tiny: { encoder: { layers: 2, hidden: 128, heads: 2, feedForward: 512, vocabulary: 8_000 } },
};
const SATURATING = 64;
const CLIENTS = [SATURATING, 8, 1];

/** The options of startService for a model. */
export function modelOptions(name: string, { ownModel }: Wish): OwnOptions {
  const options = name === "own" ? ownModel : MODELS[name];
  if (options === undefined) throw new RangeError(`Expected a model, one of ${Object.keys(MODELS)}, got \`${name}\``);
  return { ...options, modelDirectory: join(tmpdir(), "batchwise-bench-models") };
}

/** All cells, most important first. */
export function cellsOf(wish: Wish): Cell[] {
  const mixes = wish.ownTexts === undefined ? MIXES : ["texts"];
  const cells: Cell[] = [];
  const add = (kind: Cell["kind"], model: string, clients: number, mix: string): void => {
    const name = kind === "cell" ? `${model}/${clients}/${mix}` : `ablation/${mix}`;
    const times = timesOf(kind, model, clients, mix, wish.quick);
    cells.push({ name, kind, model, clients, mix, texts: mix === "texts" ? (wish.ownTexts ?? "") : mix, times });
  };
  for (const model of wish.ownModel === undefined ? Object.keys(MODELS) : ["own"]) {
    for (const clients of CLIENTS) for (const mix of mixes) add("cell", model, clients, mix);
  }
  const first = cells.splice(0, mixes.length);
  const own = wish.ownModel === undefined ? "minilm" : "own";
  for (const mix of mixes) if (mix !== "long") add("ablation", own, 64, mix);
  const ablation = cells.splice(-mixes.filter((mix) => mix !== "long").length);
  return [...first, ...ablation, ...cells];
}

function timesOf(kind: Cell["kind"], model: string, clients: number, mix: string, quick: boolean): Times {
  const isSlow = model !== "tiny";
  const warmUpMs = clients === 1 ? 3_000 : isSlow ? 8_000 : 4_000;
  const leadMs = isSlow && clients === 64 && mix === "long" ? 1_000 : 400;
  const roundMs = isSlow && clients === 64 ? 3_000 : 2_000;
  const times = {
    rounds: kind === "ablation" ? 3 : 7,
    warmUpMs,
    shortWarmUpMs: 1_500,
    warmsEvenly: !isSlow,
    roundMs,
    firstPassMs: 1_500,
    leadMs,
    bound: kind === "cell" && clients === SATURATING ? boundTimes(isSlow && !quick) : undefined,
  };
  return quick ? { ...times, rounds: 1, warmUpMs: warmUpMs / 2, roundMs: 1_500, firstPassMs: 700 } : times;
}

function boundTimes(isLong: boolean): BoundTimes {
  return isLong ? { roundMs: 800, lookMs: 200, leadMs: 60 } : { roundMs: 400, lookMs: 100, leadMs: 60 };
}

/** Limits of a batcher, and its number of workers. */
export interface Setting {
  readonly name: string;
  readonly limits: { readonly concurrency: number; readonly maxBatchSize: number; readonly maxBatchCost: number };
}

/**
 * The settings with which the defaults are compared: workers, rows, padded tokens, and batching
 * off.
 */
export function gridOf({ clients }: Cell): Setting[] {
  if (clients === 1) return [setting(1, 1), setting(WORKERS, 1), setting(WORKERS, 64, 256)];
  const settings = [setting(1, 1), setting(WORKERS, 1)];
  for (const tokens of [64, 128, 256, 512]) {
    settings.push(setting(1, 64, tokens), setting(WORKERS, 64, tokens));
    // Eight clients never have more rows waiting.
    if (clients > 8) settings.push(setting(WORKERS, 8, tokens));
  }
  return settings;
}

function setting(concurrency: number, maxBatchSize: number, maxBatchCost = 512): Setting {
  const name = settingName(concurrency, maxBatchSize, maxBatchCost);
  return { name, limits: { concurrency, maxBatchSize, maxBatchCost } };
}

function settingName(workers: number, rows: number, tokens = 512): string {
  const some = workers === 1 ? "1 worker" : `${workers} workers`;
  return rows === 1 ? `batching off, ${some}` : `${some}, ${rows} rows, ${tokens} tokens`;
}

/** Approximate time to start a service and its model, or the clients. */
const START_MS = 1_700;
const CLIENTS_MS = 450;
/** Number of FastAPI variants that are tried, and that are measured. */
const PYTHON = { tried: 4, measured: 2 };
export const ABLATION_STEPS = 7;

/** For the model alone: trials per cut, and number of cuts in the rounds. */
export const LOOKS = 2;
export const FINALISTS = 2;
/** Texts, and tokens of each, of the calls that measure the fixed cost of a call. */
export const PROBES: readonly (readonly [rows: number, columns: number])[] = [
  ...[1, 4, 8].map((rows) => [rows, 8] as const),
  ...[1, 4, 8, 16].map((rows) => [rows, 16] as const),
  [1, 32],
];
/** Time to start the threads, tokenise, and run the probes. */
const BOUND_START_MS = 2_500;

/** Approximate duration of a cell. */
export function estimateMs(cell: Cell, hasGrid: boolean, hasPython: boolean): number {
  const { rounds, warmUpMs, shortWarmUpMs, warmsEvenly, roundMs, firstPassMs, leadMs } = cell.times;
  const round = roundMs + leadMs + CLIENTS_MS;
  if (cell.kind === "ablation") {
    const starts = ABLATION_STEPS * (START_MS + shortWarmUpMs + CLIENTS_MS) + 3 * (warmUpMs - shortWarmUpMs);
    return starts + rounds * ABLATION_STEPS * round;
  }
  const settings = hasGrid ? gridOf(cell).length + (cell.clients === 1 ? 0 : 3) : 0;
  const peers = isWithPython(cell, hasPython) ? PYTHON : { tried: 0, measured: 0 };
  const passes = ((warmsEvenly ? 3 : 1) * settings + peers.tried) * (firstPassMs + leadMs + CLIENTS_MS);
  const starts = 3 * START_MS + warmUpMs + 2 * shortWarmUpMs + 3 * CLIENTS_MS + peers.tried * shortWarmUpMs;
  return boundMs(cell) + starts + passes + rounds * ((hasGrid ? 3 : 2) + peers.measured) * round;
}

/** Additional time for the model alone. */
export function boundMs({ times: { rounds, bound } }: Cell): number {
  if (bound === undefined) return 0;
  const { roundMs, lookMs, leadMs } = bound;
  return BOUND_START_MS + CAPS_COUNT * LOOKS * (lookMs + leadMs) + rounds * (1 + FINALISTS) * (roundMs + leadMs);
}

/** True for cells in which FastAPI has targets. */
export function isWithPython({ kind, model, clients }: Cell, hasPython: boolean): boolean {
  return hasPython && kind === "cell" && model === "minilm" && clients === 64;
}
