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
  /** The number of rounds of contenders that run in the first ones only, because they are slow. */
  readonly fewer?: Readonly<Record<string, number>>;
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
 * Runs several plans of one workload: one round of each, then the next. A plan with fewer rounds
 * than another ends earlier.
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

/** The contenders of a plan that run in a round, in the order of the plan. Rounds start at 0. */
export function contendersOf({ contenders, rounds, skip = [], fewer = {} }: Plan, round: number): readonly string[] {
  return contenders.filter((name) => !skip.includes(name) && round < Math.min(rounds, fewer[name] ?? rounds));
}

async function runRound(
  plan: Plan,
  round: number,
  random: () => number,
  results: ReadonlyMap<string, Measurement[]>,
): Promise<void> {
  const { workload, settings, varying, flags = [] } = plan;
  for (const contender of shuffled(contendersOf(plan, round), random)) {
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

/**
 * Median over the rounds of contender ÷ base, each from the same round. Rounds in which only one of
 * them ran do not count; NaN if there is no other.
 */
export function ratioOf(results: Results, contender: string, base: string, field: string): number {
  const bases = valuesOf(results, base, field);
  const values = valuesOf(results, contender, field).slice(0, bases.length);
  return median(values.map((value, round) => value / (bases[round] as number)));
}
