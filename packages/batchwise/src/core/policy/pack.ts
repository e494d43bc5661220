// Which waiting entries form the next batch of a lane. Reads the queue and decides; changes nothing.
//
// Entries are taken strictly in dispatch order: the highest effective priority first, then the oldest. A batch ends
// before the first entry that does not fit, so no entry is ever overtaken by a cheaper one of its own line. A single
// entry that is over the cap by itself runs alone. Where the order is by length, pack-by-length.ts chooses instead.

import type { Entry } from "../queue/entry.ts";
import type { EntryReader } from "../queue/fifo.ts";
import { itemsOf, longestFit, measureBatch, measured, orSum } from "./batch-cost.ts";
import type { Caps, Full, PackedBatch } from "./caps.ts";
import { type EntrySource, inOrder, type WaitingLines } from "./dispatch-order.ts";
import { packByLength } from "./pack-by-length.ts";

/** Packs the next batch of a lane, from the entries of the moments up to the one of this sequence. */
export function pack(lane: WaitingLines, caps: Caps, now: number, lastSequence: number): PackedBatch {
  const { batchCost, maxBatchCost, priorityAgingMs } = caps;
  const sources = inOrder(lane, now, priorityAgingMs);
  if (caps.order === "length") return packByLength(sources, lane.size, caps, now, lastSequence);
  if (typeof batchCost !== "function") return take(sources, caps, lastSequence);
  const uncapped = { ...caps, maxBatchCost: Infinity };
  const widest = take(sources, uncapped, lastSequence);
  const { entries } = widest;
  const { count, cost } = longestFit(itemsOf(entries), maxBatchCost, (prefix) => measured(batchCost, prefix));
  if (count === entries.length) {
    const isFull = cost >= maxBatchCost && maxBatchCost < Infinity;
    return { ...widest, cost: orSum(cost, widest.cost), full: widest.full ?? (isFull ? "cost" : null) };
  }
  // What has been read once too often is read anew. If the cost function has submitted something that goes first, the
  // batch stays as it was measured.
  const again = take(inOrder(lane, now, priorityAgingMs), { ...uncapped, maxBatchSize: count }, lastSequence);
  const isSame = again.entries.every((entry, index) => entry === entries[index]);
  const cut = isSame ? again : { entries: entries.slice(0, count), readers: [] };
  return { ...cut, cost: orSum(cost, measureBatch(cut.entries, "sum")), full: "cost" };
}

/** A batch while it is packed. */
interface Draft {
  entries: Entry[];
  readonly readers: EntryReader[];
  cost: number;
  /** What its dearest entry costs. */
  largest: number;
  full: Full;
}

/** The first entries that fit by their sum, or padded. */
function take(sources: readonly EntrySource[], caps: Caps, lastSequence: number): PackedBatch {
  const batch: Draft = { entries: [], readers: [], cost: 0, largest: 0, full: null };
  for (const source of sources) {
    if (batch.full !== null) break;
    if (!source.isEmpty) takeFrom(source.reader(lastSequence), batch, caps);
  }
  if (batch.full === null && batch.cost >= caps.maxBatchCost) batch.full = "cost";
  return batch;
}

function takeFrom(reader: EntryReader, batch: Draft, caps: Caps): void {
  batch.readers.push(reader);
  while (reader.entry !== null && batch.full === null) {
    const ahead = reader.ahead(caps.maxBatchSize - batch.entries.length);
    const count = addFitting(ahead, batch, caps);
    if (count > 0) reader.advance(count);
    if (count < ahead.length) {
      batch.full = "cost";
      ahead.length = count;
    }
    // Readers of several lines or tenants read one by one.
    if (count === 1) batch.entries.push(ahead[0] as Entry);
    else batch.entries = batch.entries.length === 0 ? ahead : batch.entries.concat(ahead);
    if (batch.entries.length >= caps.maxBatchSize) batch.full = "size";
  }
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
