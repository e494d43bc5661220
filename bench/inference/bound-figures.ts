/**
 * What the bound's measurements say: the best way to batch, what it gives, and what a call costs
 * besides its tokens. Pure.
 */
import { type Claim, verdictOf } from "../report/section.ts";
import { ALONE, type Way } from "./bound-batches.ts";
import { medianOf, type Rounds, ratioOf } from "./turns.ts";

export interface LookedAt {
  readonly name: string;
  readonly perSecond: number;
  /** Texts and padded tokens in a batch, on average. */
  readonly rows: number;
  readonly cost: number;
}

export interface Probe {
  /** Padded tokens of a call. */
  readonly tokens: number;
  readonly ms: number;
}

/** What is found out before the rounds. */
export interface BoundLooks {
  readonly workers: number;
  /** How many texts were known beforehand. */
  readonly texts: number;
  /** Of a text, on average. */
  readonly tokens: number;
  readonly probes: readonly Probe[];
  /** Ways of cutting at a first look, best first. */
  readonly looked: readonly LookedAt[];
}

/** What a way of cutting is called in the rounds of a cell. */
export function nameInRounds({ name }: Pick<Way, "name">): string {
  return `the model, ${name}`;
}

export interface Bound {
  /** Texts a second of the model, each text alone and in the best batches. */
  readonly alone: number;
  readonly best: number;
  /** Best ÷ alone, at least 1, since each text alone is a way too. */
  readonly ratio: number;
  /** The best way, as it is called in the rounds. */
  readonly name: string;
  readonly rows: number;
  readonly cost: number;
}

export function boundOf({ looked, tokens }: BoundLooks, rounds: Rounds): Bound {
  const aloneName = nameInRounds(ALONE);
  const alone = medianOf(rounds, aloneName, "perSecond");
  const against = (way: LookedAt): number => ratioOf(rounds, nameInRounds(way), aloneName, "perSecond");
  const ways = looked.filter((way) => against(way) > 1);
  const best = ways.toSorted((a, b) => against(b) - against(a))[0];
  if (best === undefined) return { alone, best: alone, ratio: 1, name: aloneName, rows: 1, cost: tokens };
  const { rows, cost } = best;
  const name = nameInRounds(best);
  return { alone, best: medianOf(rounds, name, "perSecond"), ratio: against(best), name, rows, cost };
}

export interface CallCost {
  /** Milliseconds of a call besides its tokens, and of each padded token. */
  readonly fixedMs: number;
  readonly tokenMs: number;
  /** The fixed part as a number of tokens. */
  readonly fixedTokens: number;
}

/** The line through the probes with the least squares of relative errors. */
export function fitCalls(probes: readonly Probe[]): CallCost {
  const sum = (of: (probe: Probe) => number): number => probes.reduce((total, probe) => total + of(probe), 0);
  const one = sum(({ ms }) => 1 / ms ** 2);
  const x = sum(({ tokens, ms }) => tokens / ms ** 2);
  const xx = sum(({ tokens, ms }) => tokens ** 2 / ms ** 2);
  const y = sum(({ ms }) => 1 / ms);
  const xy = sum(({ tokens, ms }) => tokens / ms);
  const tokenMs = (one * xy - x * y) / (one * xx - x * x);
  const fixedMs = (y - tokenMs * x) / one;
  return { fixedMs, tokenMs, fixedTokens: fixedMs / tokenMs };
}

/** A target, and what the model alone gives in its place, where that was measured. */
export interface BoundedClaim extends Claim {
  readonly bound?: number | undefined;
}

/** A measured ratio that passes its bound by more than chance shows that the bound is none. */
const CHANCE = 0.05;

/**
 * Whether even the model alone, in the best batches, misses the target. Never of a target that is
 * met.
 */
export function isOutOfReach(claim: BoundedClaim): boolean {
  const { bound = Number.NaN, measured } = claim;
  if (verdictOf(claim) !== "missed" || !(measured <= bound * (1 + CHANCE))) return false;
  return verdictOf({ ...claim, measured: bound }) === "missed";
}
