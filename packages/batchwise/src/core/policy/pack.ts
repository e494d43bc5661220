// Which waiting entries form the next batch of a lane. Reads the queue and decides; changes nothing
// but what a lane keeps of the answers of a cost function.
//
// Entries are taken strictly in the order of the lane. A batch ends before the first entry that
// does not fit, so no entry is ever overtaken by a cheaper one of its own line. A single entry that
// is over the cap by itself runs alone. How many fit by a function is found by longest-fit.ts.

import type { Entry } from "../queue/entry.ts";
import type { EntryReader } from "../queue/fifo.ts";
import type { MeasuredEntries } from "../queue/measured-entries.ts";
import { itemsOf, measureBatch, measured, orSum } from "./batch-cost.ts";
import type { Caps, Full, PackedBatch, Waiting } from "./caps.ts";
import { longestFit, startsWith } from "./longest-fit.ts";
import type { Packer } from "./packer.ts";

/**
 * Packs the next batch of a lane, from the entries of the moments up to the one of this sequence.
 */
export function pack(lane: Waiting, caps: Caps, lastSequence: number): PackedBatch {
  const { batchCost } = caps;
  if (typeof batchCost === "function") return packMeasured(lane, { ...caps, batchCost }, lastSequence);
  return take(lane.reader(lastSequence), caps);
}

/** Takes entries in their order and learns nothing: the caps are the options as they were given. */
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

/** The batch that fits by the user's function. The lane keeps what that has said. */
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
  // Where the cost function has submitted something that goes first, the batch stays as it was
  // measured.
  const entries = fit.entries.slice(0, count);
  const cut = startsWith(batch.entries, entries) ? batch : { entries, reader: null };
  const full = !isCut && count >= maxBatchSize ? "size" : isCut || cost >= maxBatchCost ? "cost" : null;
  return { ...cut, cost: orSum(cost, measureBatch(entries, "sum")), full };
}

/**
 * What is known of a lane holds while its first entries are the same. Where all of them fitted,
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

/** A batch while it is packed. */
interface Draft {
  entries: Entry[];
  cost: number;
  /** What its dearest entry costs. */
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
    // Readers of several lines or tenants may read one by one.
    if (count === 1) batch.entries.push(ahead[0] as Entry);
    else batch.entries = batch.entries.length === 0 ? ahead : batch.entries.concat(ahead);
    if (batch.entries.length >= caps.maxBatchSize) batch.full = "size";
  }
  if (batch.full === null && batch.cost >= caps.maxBatchCost) batch.full = "cost";
  return { entries: batch.entries, reader, cost: batch.cost, full: batch.full };
}

/** Adds the cost of these entries, up to the first that does not fit. Returns how many fit. */
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
