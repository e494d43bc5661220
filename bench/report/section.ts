/**
 * The report of a suite: the question, one or more tables, and the claims that the tables must
 * support. Pure; markdown.ts formats it.
 */
export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Claim {
  readonly text: string;
  readonly measured: number;
  readonly sense: "at most" | "at least" | "below" | "above";
  readonly limit: number;
  /** The kind of number: `x` for a ratio, else a unit. */
  readonly unit: string;
}

export interface Section {
  readonly title: string;
  readonly about: readonly string[];
  readonly tables: readonly Table[];
  readonly claims: readonly Claim[];
}

/** The part of a suite to run. */
export interface Scale {
  readonly rounds: number;
  /** True: smaller loads, without peers that are slow to measure. */
  readonly quick: boolean;
  /** Names of contenders to leave out; their figures are NaN. */
  readonly skip: readonly string[];
}

/**
 * Two runs of one program differ by this share. A ratio that misses its limit by no more than this
 * counts as met.
 */
const TOLERANCE = 0.05;

export type Verdict = "met" | "close" | "missed";

/**
 * `close`: a ratio that exceeds its limit by at most 5 %. Other units have no tolerance; NaN is
 * `missed`.
 */
export function verdictOf(claim: Claim): Verdict {
  if (isWithin(claim, 0)) return "met";
  return claim.unit === "x" && isWithin(claim, TOLERANCE) ? "close" : "missed";
}

function isWithin({ measured, sense, limit }: Claim, tolerance: number): boolean {
  switch (sense) {
    case "at most":
      return measured <= limit * (1 + tolerance);
    case "below":
      return measured < limit * (1 + tolerance);
    case "at least":
      return measured >= limit * (1 - tolerance);
    case "above":
      return measured > limit * (1 - tolerance);
  }
}

/** Formats a number with as many digits as a reader can use. */
export function figure(value: number): string {
  if (Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1_000) return Math.round(value).toLocaleString("en-US");
  if (size >= 100) return value.toFixed(0);
  return size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function ratio(value: number): string {
  return Number.isNaN(value) ? "–" : `${figure(value)} x`;
}
