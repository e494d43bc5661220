/**
 * Batches with all texts known in advance: sorted by length, then cut by rows and padded tokens.
 * Pure.
 */

/** Limits by which sorted texts are cut into batches. */
export interface BatchCaps {
  readonly name: string;
  /** Most texts of a batch. */
  readonly rows: number;
  /** Most padded tokens of a batch; a longer text has a batch of its own. */
  readonly tokens: number;
}

export const SINGLE: BatchCaps = { name: "each text alone", rows: 1, tokens: 0 };

const ROWS = [8, 16, 64];
const TOKENS = [64, 128, 256, 512, 1_024];
const ALL_CAPS: readonly BatchCaps[] = TOKENS.flatMap((tokens) =>
  ROWS.map((rows) => ({ name: `${rows} rows, ${tokens} tokens`, rows, tokens })),
);
export const CAPS_COUNT: number = ALL_CAPS.length;

/** The sorted texts from `from` up to, not including, `to`. */
type Range = readonly [from: number, to: number];

export interface Cut extends BatchCaps {
  readonly batches: readonly Range[];
}

/** Cuts texts of these ascending lengths into batches, each as large as the limits allow. */
export function cutBatches(sorted: readonly number[], caps: BatchCaps): Cut {
  const batches: Range[] = [];
  // From the longest down, so that the first text of a batch sets its width.
  for (let to = sorted.length; to > 0; ) {
    const fitting = Math.floor(caps.tokens / (sorted[to - 1] ?? 1));
    const from = Math.max(0, to - Math.max(1, Math.min(caps.rows, fitting)));
    batches.push([from, to]);
    to = from;
  }
  return { ...caps, batches: batches.reverse() };
}

/** Every cut that differs from single texts and from the cuts before it. */
export function differentCuts(sorted: readonly number[]): Cut[] {
  const cuts = new Map<string, Cut>([[String(cutBatches(sorted, SINGLE).batches), cutBatches(sorted, SINGLE)]]);
  for (const caps of ALL_CAPS) {
    const cut = cutBatches(sorted, caps);
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
