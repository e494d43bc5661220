/** Services that take turns under one load, and what their figures are to each other. */
import { median, seededRandom, shuffled } from "../harness/numbers.ts";
import type { Cell } from "./plan.ts";
import { type Figures, measure, type Service } from "./services.ts";

export type Progress = (line: string) => void;

/** The figures of a round; how it began is not kept. */
export type RoundFigures = Omit<Figures, "wordsPerSlice">;

/** Of each service by its name, one a round. */
export type Rounds = Readonly<Record<string, readonly RoundFigures[]>>;

/** One that takes turns with others. */
export interface Contender {
  readonly name: string;
  round(round: number): Promise<RoundFigures>;
}

/** A service under the load of a cell. */
export function underLoad(service: Service, cell: Cell): Contender {
  const { leadMs, roundMs: durationMs } = cell.times;
  return {
    name: service.name,
    async round(round) {
      const load = { clients: cell.clients, mix: cell.texts, leadMs, durationMs, seed: round };
      const { wordsPerSlice: _, ...kept } = await measure(service, load);
      return kept;
    },
  };
}

export async function inTurns(contenders: readonly Contender[], cell: Cell, progress: Progress): Promise<Rounds> {
  const { rounds } = cell.times;
  const figures = Object.fromEntries(contenders.map(({ name }) => [name, [] as RoundFigures[]]));
  const random = seededRandom(contenders.length);
  for (let round = 0; round < rounds; round += 1) {
    progress(`round ${round + 1} of ${rounds}`);
    for (const contender of shuffled(contenders, random)) {
      figures[contender.name]?.push(await contender.round(round));
    }
  }
  return figures;
}

/** Texts a second, measured once and for a short time. */
export async function firstLook(service: Service, cell: Cell, seed: number): Promise<number> {
  const { leadMs, firstPassMs: durationMs } = cell.times;
  const load = { clients: cell.clients, mix: cell.texts, leadMs, durationMs, seed };
  return (await measure(service, load)).perSecond;
}

/** Its words answered a second, in each quarter of a second. */
export async function warmUp(service: Service, cell: Cell, durationMs: number): Promise<readonly number[]> {
  const load = { clients: cell.clients, mix: cell.texts, leadMs: 0, durationMs, seed: 1_000 };
  return (await measure(service, load)).wordsPerSlice;
}

/** So much of what it reaches in the end counts as settled, over a second. */
const SETTLED = 0.95;
const WINDOW = 4;

/** How many seconds it took to reach what the last third of the slices is like. Pure. */
export function settledAfter(wordsPerSlice: readonly number[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const last = mean(wordsPerSlice.slice(-Math.ceil(wordsPerSlice.length / 3)));
  for (let end = WINDOW; end <= wordsPerSlice.length; end += 1) {
    if (mean(wordsPerSlice.slice(end - WINDOW, end)) >= SETTLED * last) return end / 4;
  }
  return Number.NaN;
}

type Key = keyof RoundFigures;

export function medianOf(rounds: Rounds, name: string, key: Key): number {
  return median((rounds[name] ?? []).map((figures) => figures[key]));
}

/**
 * The median over the rounds of a service's figure divided by that of another in the same round.
 */
export function ratioOf(rounds: Rounds, name: string, base: string, key: Key): number {
  const bases = rounds[base] ?? [];
  return median((rounds[name] ?? []).map((figures, round) => figures[key] / (bases[round]?.[key] ?? Number.NaN)));
}
