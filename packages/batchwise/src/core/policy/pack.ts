// Selects the waiting entries of a lane's next batch. Only reads the queue, and caches results of
// the cost function in the lane.
//
// Entries are taken strictly in lane order. A batch ends before the first entry that does not fit,
// so a cheaper entry never overtakes an earlier one of its line. A single entry over the cap runs
// alone. longest-fit.ts handles cost functions.

import type { Entry } from "../queue/entry.ts";
import type { EntryReader } from "../queue/fifo.ts";
import type { MeasuredEntries } from "../queue/measured-entries.ts";
import { itemsOf, measureBatch, measured, orSum } from "./batch-cost.ts";
import type { Caps, Full, PackedBatch, Waiting } from "./caps.ts";
import { longestFit, startsWith } from "./longest-fit.ts";
import type { Packer } from "./packer.ts";

/** Packs the next batch of a lane, from entries up to this moment's sequence. */
export function pack(lane: Waiting, caps: Caps, lastSequence: number): PackedBatch {
  const { batchCost } = caps;
  if (typeof batchCost === "function") return packMeasured(lane, { ...caps, batchCost }, lastSequence);
  return take(lane.reader(lastSequence), caps);
}

/** Takes entries in order and learns nothing: the caps are the options as given. */
export const FIFO: Packer = {
  limits: (options) => options,
  capsOf: (_lane, options) => options,
  pack: (lane, caps, _now, lastSequence) => pack(lane, caps, lastSequence),
  record: () => {},
  stats: () => null,
};

interface MeasuredCaps extends Caps {
  readonly batchCost: (items: readonly unknown[]) => number;
}

/** Packs by the user's function. The lane caches its results. */
function packMeasured(lane: Waiting, caps: MeasuredCaps, lastSequence: number): PackedBatch {
  const { batchCost, maxBatchCost, maxBatchSize } = caps;
  const read = (count: number): PackedBatch => {
    const uncapped = { ...caps, maxBatchCost: Infinity, maxBatchSize: Math.min(count, maxBatchSize) };
    return take(lane.reader(lastSequence), uncapped);
  };
  const costOf = (items: unknown[]): number => measured(batchCost, items);
  if (maxBatchCost === Infinity) {
    const whole = read(maxBatchSize);
    return { ...whole, cost: orSum(costOf(itemsOf(whole.entries)), whole.cost) };
  }
  const fit = fitOf(lane, (count) => read(count).entries, maxBatchCost, costOf);
  lane.measured = fit;
  const { count, cost, isCut } = fit;
  const batch = read(count);
  // If the cost function has submitted entries that go first, the batch stays as it was measured.
  const entries = fit.entries.slice(0, count);
  const cut = startsWith(batch.entries, entries) ? batch : { entries, reader: null };
  const full = !isCut && count >= maxBatchSize ? "size" : isCut || cost >= maxBatchCost ? "cost" : null;
  return { ...cut, cost: orSum(cost, measureBatch(entries, "sum")), full };
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

/** A batch during packing. */
interface Draft {
  entries: Entry[];
  cost: number;
  /** Cost of its most expensive entry. */
  largest: number;
  full: Full;
}

/** The first entries that fit by their sum, or padded. */
function take(reader: EntryReader, caps: Caps): PackedBatch {
  const batch: Draft = { entries: [], cost: 0, largest: 0, full: null };
  while (reader.entry !== null && batch.full === null) {
    const ahead = reader.ahead(caps.maxBatchSize - batch.entries.length);
    const count = addFitting(ahead, batch, caps);
    if (count > 0) reader.advance(count);
    if (count < ahead.length) {
      batch.full = "cost";
      ahead.length = count;
    }
    // Readers of several lines or tenants may return single entries.
    if (count === 1) batch.entries.push(ahead[0] as Entry);
    else batch.entries = batch.entries.length === 0 ? ahead : batch.entries.concat(ahead);
    if (batch.entries.length >= caps.maxBatchSize) batch.full = "size";
  }
  if (batch.full === null && batch.cost >= caps.maxBatchCost) batch.full = "cost";
  return { entries: batch.entries, reader, cost: batch.cost, full: batch.full };
}

/** Adds the costs of these entries up to the first that does not fit. Returns how many fit. */
function addFitting(ahead: readonly Entry[], batch: Draft, { maxBatchCost, batchCost }: Caps): number {
  const { length } = batch.entries;
  const isPadded = batchCost === "padded";
  let { cost, largest } = batch;
  let count = 0;
  for (; count < ahead.length; count += 1) {
    const own = (ahead[count] as Entry).cost;
    const widest = isPadded && own > largest ? own : largest;
    const whole = isPadded ? (length + count + 1) * widest : cost + own;
    if (whole > maxBatchCost && length + count > 0) break;
    cost = whole;
    largest = widest;
  }
  batch.cost = cost;
  batch.largest = largest;
  return count;
}
