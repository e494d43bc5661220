/**
 * The shape of what a suite reports: what was asked, one or more tables, and the claims that the
 * tables must bear. Pure; how it looks on paper is markdown.ts.
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
  /** What the number is: `x` for a ratio, a unit otherwise. */
  readonly unit: string;
}

export interface Section {
  readonly title: string;
  readonly about: readonly string[];
  readonly tables: readonly Table[];
  readonly claims: readonly Claim[];
}

/** How much of a suite to run. */
export interface Scale {
  readonly rounds: number;
  /** A first look: smaller loads, no peer that is slow to measure. */
  readonly quick: boolean;
  /** Contenders to leave out, by name; their figures are NaN. */
  readonly skip: readonly string[];
}

/**
 * Two runs of one program differ by this share. A ratio that misses its limit by no more counts as
 * met.
 */
const TOLERANCE = 0.05;

export type Verdict = "met" | "close" | "missed";

/**
 * `close`: a ratio that is over its limit, and within 5 % of it. Other units have no tolerance; NaN
 * is `missed`.
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

/** A number with as many digits as a reader can use. */
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
