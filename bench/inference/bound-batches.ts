/**
 * Batches with all texts known in advance: sorted by length, then cut by rows and padded tokens.
 * Pure.
 */

/** A way to cut sorted texts into batches. */
export interface Way {
  readonly name: string;
  /** Limits on a batch's texts and on its padded tokens; a longer text has a batch of its own. */
  readonly rows: number;
  readonly tokens: number;
}

export const ALONE: Way = { name: "each text alone", rows: 1, tokens: 0 };

const ROWS = [8, 16, 64];
const TOKENS = [64, 128, 256, 512, 1_024];
const WAYS: readonly Way[] = TOKENS.flatMap((tokens) =>
  ROWS.map((rows) => ({ name: `${rows} rows, ${tokens} tokens`, rows, tokens })),
);
export const WAYS_COUNT: number = WAYS.length;

/** The sorted texts from `from` up to, not including, `to`. */
type Range = readonly [from: number, to: number];

export interface Cut extends Way {
  readonly batches: readonly Range[];
}

/** Cuts texts of these ascending lengths into batches, each as large as the limits allow. */
export function cutBatches(sorted: readonly number[], way: Way): Cut {
  const batches: Range[] = [];
  // From the longest down, so that the first text of a batch sets its width.
  for (let to = sorted.length; to > 0; ) {
    const fitting = Math.floor(way.tokens / (sorted[to - 1] ?? 1));
    const from = Math.max(0, to - Math.max(1, Math.min(way.rows, fitting)));
    batches.push([from, to]);
    to = from;
  }
  return { ...way, batches: batches.reverse() };
}

/** Every cut that differs from single texts and from the cuts before it. */
export function differentCuts(sorted: readonly number[]): Cut[] {
  const cuts = new Map<string, Cut>([[String(cutBatches(sorted, ALONE).batches), cutBatches(sorted, ALONE)]]);
  for (const way of WAYS) {
    const cut = cutBatches(sorted, way);
    const key = String(cut.batches);
    if (!cuts.has(key)) cuts.set(key, cut);
  }
  return [...cuts.values()].slice(1);
}

/** Mean texts and padded tokens per batch. */
export function meanSize(
  sorted: readonly number[],
  { batches }: Cut,
): { readonly rows: number; readonly cost: number } {
  const padded = batches.reduce((sum, [from, to]) => sum + (to - from) * (sorted[to - 1] ?? 0), 0);
  return { rows: sorted.length / batches.length, cost: padded / batches.length };
}

const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** `count` indexes below `size`, evenly spread; another `start` gives others. */
export function spread(size: number, count: number, start: number): number[] {
  return Array.from({ length: count }, (_, at) => Math.floor((((start + at) * GOLDEN) % 1) * size));
}

/**
 * A call takes about as long as this many tokens, besides its own. If that is wrong, a short
 * measure is less exact.
 */
const CALL_TOKENS = 12;

/** The approximate cost of a call in tokens. */
export function weightOf(rows: number, columns: number): number {
  return CALL_TOKENS + rows * columns;
}

/** Estimates the time of all batches from the time of some, with an allowance for their sizes. */
export function wholeMs(callsMs: readonly number[], ran: readonly number[], all: readonly number[]): number {
  return (sum(callsMs) / sum(ran)) * sum(all);
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
