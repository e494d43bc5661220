/**
 * The shape of what a suite reports: what was asked, one or more tables, and the claims that the tables must bear.
 * Pure; how it looks on paper is markdown.ts.
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
  /** Only what guards against a regression: ratios, no peer that is slow to measure. */
  readonly quick: boolean;
}

/** Room that a claim is given in the quick run, so that a busy machine does not fail it. */
export const quickSlack = 1.35;

export function holds({ measured, sense, limit }: Claim, slack = 1): boolean {
  switch (sense) {
    case "at most":
      return measured <= limit * slack;
    case "below":
      return measured < limit * slack;
    case "at least":
      return measured >= limit / slack;
    case "above":
      return measured > limit / slack;
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
