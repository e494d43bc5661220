// Selects the waiting entries of a lane's next batch. Only reads the queue, and caches results of
// the cost function in the lane.
//
// Entries are taken strictly in lane order. A batch ends before the first entry that does not fit,
// so a cheaper entry never overtakes an earlier one of its line. A single entry over the cap runs
// alone. longest-fit.ts handles cost functions.

import type { Entry } from "../queue/entry.ts";
import type { MeasuredEntries } from "../queue/measured-entries.ts";
import { itemsOf, measureBatch, measured, orSum } from "./batch-cost.ts";
import { type Caps, type PackedBatch, type Waiting, withCap } from "./caps.ts";
import { longestFit, startsWith } from "./longest-fit.ts";
import type { Packer } from "./packer.ts";

/** Packs the next batch of a lane, from entries of moments up to this sequence. */
export function pack(lane: Waiting, caps: Caps, upTo: number): PackedBatch {
  const { batchCost } = caps;
  if (typeof batchCost === "function") return packMeasured(lane, { ...caps, batchCost }, upTo);
  return packInOrder(lane, caps, upTo);
}

/** Takes entries in order and learns nothing: the caps are the options as given. */
export const FIFO: Packer = {
  highestCap: ({ maxBatchCost }) => maxBatchCost,
  capsOf: (_lane, options) => withCap(options, options.maxBatchCost),
  pack: (lane, caps, _now, upTo) => pack(lane, caps, upTo),
  record: () => {},
  stats: () => null,
};

interface MeasuredCaps extends Caps {
  readonly batchCost: (items: readonly unknown[]) => number;
}

/** Packs by the user's function. The lane caches its results. */
function packMeasured(lane: Waiting, caps: MeasuredCaps, upTo: number): PackedBatch {
  const { batchCost, maxBatchCost, maxBatchSize } = caps;
  const read = (count: number): Entry[] => lane.first(Math.min(count, maxBatchSize), upTo);
  const costOf = (items: unknown[]): number => measured(batchCost, items);
  if (maxBatchCost === Infinity) {
    const entries = read(maxBatchSize);
    const cost = orSum(costOf(itemsOf(entries)), measureBatch(entries, "sum"));
    return { entries, cost, full: entries.length >= maxBatchSize ? "size" : null };
  }
  const fit = fitOf(lane, read, maxBatchCost, costOf);
  lane.measured = fit;
  const { count, cost, isCut } = fit;
  // If the cost function has submitted entries that go first, the batch stays as it was measured.
  const entries = fit.entries.slice(0, count);
  const full = !isCut && count >= maxBatchSize ? "size" : isCut || cost >= maxBatchCost ? "cost" : null;
  return { entries, cost: orSum(cost, measureBatch(entries, "sum")), full };
}

/**
 * The cached result is valid while the lane's first entries are the same. If all of them fitted,
 * there may be more now.
 */
function fitOf(
  { measured: known }: Waiting,
  read: (count: number) => readonly Entry[],
  cap: number,
  costOf: (items: unknown[]) => number,
): MeasuredEntries {
  if (known === null || known.count === 0 || known.cap !== cap) return longestFit(read, cap, costOf);
  if (!startsWith(read(known.entries.length), known.entries)) return longestFit(read, cap, costOf);
  return known.isCut ? known : longestFit(read, cap, costOf, known);
}

/**
 * With a cap on cost, at least this many entries are read first, and each further read is four
 * times as large.
 */
const FIRST_READ = 64;

/** Entries to read first: the number that fits at the lane's mean cost. */
function expected({ size, cost }: Waiting, maxBatchCost: number): number {
  return maxBatchCost < Infinity ? Math.max(FIRST_READ, Math.ceil(maxBatchCost / (cost / size))) : Infinity;
}

/** The first entries that fit by their sum, or padded. */
function packInOrder(lane: Waiting, { maxBatchSize, maxBatchCost, batchCost }: Caps, upTo: number): PackedBatch {
  for (let most = expected(lane, maxBatchCost); ; most *= 4) {
    const read = Math.min(most, maxBatchSize);
    const entries = lane.first(read, upTo);
    const { count, cost } = fitting(entries, maxBatchCost, batchCost === "padded");
    const isCut = count < entries.length;
    if (!isCut && read < maxBatchSize && entries.length === read) continue;
    entries.length = count;
    const isFull = isCut || cost >= maxBatchCost;
    return { entries, cost, full: count >= maxBatchSize ? "size" : isFull ? "cost" : null };
  }
}

/** How many of these entries fit, at least one, and their cost. */
function fitting(entries: readonly Entry[], maxBatchCost: number, isPadded: boolean): { count: number; cost: number } {
  let cost = 0;
  let largest = 0;
  for (let count = 0; count < entries.length; count += 1) {
    const own = (entries[count] as Entry).cost;
    largest = own > largest ? own : largest;
    const whole = isPadded ? (count + 1) * largest : cost + own;
    if (whole > maxBatchCost && count > 0) return { count, cost };
    cost = whole;
  }
  return { count: entries.length, cost };
}
