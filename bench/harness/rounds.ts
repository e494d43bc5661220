/**
 * Interleaved rounds: each round runs every contender once, in an order shuffled from a seed.
 *
 * A ratio is computed within a round, from two runs that are seconds apart; the reported figure is
 * the median over the rounds. So a neighbour that slows the machine for a while slows both sides of
 * a ratio.
 */
import { type Measurement, runContender, type Settings } from "./child.ts";
import { median, seededRandom, shuffled } from "./numbers.ts";

export interface Plan {
  readonly workload: string;
  readonly contenders: readonly string[];
  readonly rounds: number;
  readonly settings: Settings;
  readonly flags?: readonly string[];
  /** Contenders that are not run. */
  readonly skip?: readonly string[];
  /** Settings that change from round to round, such as the seed of the arrivals. */
  readonly varying?: (round: number) => Settings;
}

/** The measurements of each contender, one per round. */
export type Results = ReadonlyMap<string, readonly Measurement[]>;

export type Progress = (line: string) => void;

export async function runRounds(plan: Plan, progress: Progress): Promise<Results> {
  const [results] = await runInterleaved([plan], progress);
  return results as Results;
}

/**
 * Runs several plans of one workload, each with the same number of rounds: one round of each, then
 * the next.
 */
export async function runInterleaved(plans: readonly Plan[], progress: Progress): Promise<readonly Results[]> {
  const random = seededRandom(20_26);
  const all = plans.map((plan) => new Map<string, Measurement[]>(plan.contenders.map((name) => [name, []])));
  const rounds = Math.max(...plans.map((plan) => plan.rounds));
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    for (const [at, plan] of plans.entries())
      await runRound(plan, round, random, all[at] as Map<string, Measurement[]>);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    progress(`${plans[0]?.workload} round ${round + 1} of ${rounds}: ${seconds} s`);
  }
  return all;
}

async function runRound(
  { workload, contenders, settings, varying, flags = [], skip = [] }: Plan,
  round: number,
  random: () => number,
  results: ReadonlyMap<string, Measurement[]>,
): Promise<void> {
  for (const contender of shuffled(contenders, random)) {
    if (skip.includes(contender)) continue;
    const job = { workload, contender, settings: { ...settings, ...varying?.(round) }, flags };
    results.get(contender)?.push(await runContender(job));
  }
}

export function valuesOf(results: Results, contender: string, field: string): readonly number[] {
  return (results.get(contender) ?? []).map((measurement) => measurement[field] ?? Number.NaN);
}

export function medianOf(results: Results, contender: string, field: string): number {
  return median(valuesOf(results, contender, field));
}

/** Median over the rounds of contender ÷ base, each from the same round. */
export function ratioOf(results: Results, contender: string, base: string, field: string): number {
  const bases = valuesOf(results, base, field);
  return median(valuesOf(results, contender, field).map((value, round) => value / (bases[round] ?? Number.NaN)));
}
