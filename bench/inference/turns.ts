/** Services that take turns under one load, and the ratios of their figures. */
import { median, seededRandom, shuffled } from "../harness/numbers.ts";
import type { Cell } from "./plan.ts";
import { type Figures, measure, type Service } from "./services.ts";

export type Progress = (line: string) => void;

/** The figures of a round, without its first seconds. */
export type RoundFigures = Omit<Figures, "wordsPerSlice">;

/** The figures of each service by name, one per round. */
export type Rounds = Readonly<Record<string, readonly RoundFigures[]>>;

/** A contender that takes turns with others. */
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

/** Texts per second, measured once and briefly. */
export async function firstLook(service: Service, cell: Cell, seed: number): Promise<number> {
  const { leadMs, firstPassMs: durationMs } = cell.times;
  const load = { clients: cell.clients, mix: cell.texts, leadMs, durationMs, seed };
  return (await measure(service, load)).perSecond;
}

/** Answered words per second, in each quarter of a second. */
export async function warmUp(service: Service, cell: Cell, durationMs: number): Promise<readonly number[]> {
  const load = { clients: cell.clients, mix: cell.texts, leadMs: 0, durationMs, seed: 1_000 };
  return (await measure(service, load)).wordsPerSlice;
}

/** The share of the final rate, over a second, that counts as settled. */
const SETTLED = 0.95;
const WINDOW = 4;

/** Seconds until the rate of the last third of the slices was reached. Pure. */
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

/** The median over the rounds of a service's figure divided by another's in the same round. */
export function ratioOf(rounds: Rounds, name: string, base: string, key: Key): number {
  const bases = rounds[base] ?? [];
  return median((rounds[name] ?? []).map((figures, round) => figures[key] / (bases[round]?.[key] ?? Number.NaN)));
}
