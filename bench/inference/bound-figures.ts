/**
 * Evaluates the measurements of the bound: the best way to batch, its rate, and the cost of a call
 * besides its tokens. Pure.
 */
import { type Claim, verdictOf } from "../report/section.ts";
import { type BatchCaps, SINGLE } from "./bound-batches.ts";
import { medianOf, type Rounds, ratioOf } from "./turns.ts";

export interface LookedAt {
  readonly name: string;
  readonly perSecond: number;
  /** Mean texts and padded tokens per batch. */
  readonly rows: number;
  readonly cost: number;
}

export interface Probe {
  /** Padded tokens of a call. */
  readonly tokens: number;
  readonly ms: number;
}

/** Results of the trials before the rounds. */
export interface BoundLooks {
  readonly workers: number;
  /** Number of texts known in advance. */
  readonly texts: number;
  /** Mean tokens per text. */
  readonly tokens: number;
  readonly probes: readonly Probe[];
  /** Cuts and their rates in the trials, best first. */
  readonly looked: readonly LookedAt[];
}

/** The name of a cut in the rounds of a cell. */
export function nameInRounds({ name }: Pick<BatchCaps, "name">): string {
  return `the model, ${name}`;
}

export interface Bound {
  /** Texts per second of the model: single texts, and the best batches. */
  readonly alone: number;
  readonly best: number;
  /** Best ÷ single, at least 1, because single texts are one of the cuts. */
  readonly ratio: number;
  /** The best cut's name in the rounds. */
  readonly name: string;
  readonly rows: number;
  readonly cost: number;
}

export function boundOf({ looked, tokens }: BoundLooks, rounds: Rounds): Bound {
  const aloneName = nameInRounds(SINGLE);
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
  /** Milliseconds per call besides its tokens, and per padded token. */
  readonly fixedMs: number;
  readonly tokenMs: number;
  /** The fixed part, in tokens. */
  readonly fixedTokens: number;
}

/** Fits a line through the probes by least squares of relative errors. */
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

/** A target, and the rate of the model alone in its place, if measured. */
export interface BoundedClaim extends Claim {
  readonly bound?: number | undefined;
}

/** A measured ratio that exceeds its bound by more than chance shows that the bound is wrong. */
const CHANCE = 0.05;

/**
 * True if even the model alone, in the best batches, misses the target. Never true for a target
 * that is met.
 */
export function isOutOfReach(claim: BoundedClaim): boolean {
  const { bound = Number.NaN, measured } = claim;
  if (verdictOf(claim) !== "missed" || !(measured <= bound * (1 + CHANCE))) return false;
  return verdictOf({ ...claim, measured: bound }) === "missed";
}
