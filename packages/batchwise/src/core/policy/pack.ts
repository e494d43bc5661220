// Which waiting entries form the next batch of a lane. Reads the queue and decides; changes nothing.
//
// Entries are taken strictly in dispatch order: the highest effective priority first, then the oldest. A batch ends
// before the first entry that does not fit, so no entry is ever overtaken by a cheaper one of its own line. A single
// entry that is over the cap by itself runs alone.

import type { Measure } from "../contract/options.ts";
import type { Entry } from "../queue/entry.ts";
import type { EntryReader } from "../queue/fifo.ts";
import type { Line } from "../queue/lane.ts";
import type { BatchPlan } from "../queue/queue.ts";
import { longestFit, measured, orSum } from "./batch-cost.ts";
import { readInOrder } from "./dispatch-order.ts";

export interface Caps {
  readonly maxBatchSize: number;
  readonly maxBatchCost: number;
  readonly batchCost: Measure<unknown>;
  readonly priorityAgingMs: number;
}

/** Which cap closed a batch; null where everything that waits is in it and more would fit. */
export type Full = "size" | "cost" | null;

export interface PackedBatch extends BatchPlan {
  readonly cost: number;
  readonly full: Full;
}

/** Packs the next batch of a lane, from the entries up to an epoch. `lines` are in the order of their ranks. */
export function pack(lines: readonly Line[], caps: Caps, now: number, lastEpoch: number): PackedBatch {
  const { batchCost, maxBatchCost, maxBatchSize } = caps;
  const reader = readInOrder(lines, now, caps.priorityAgingMs, lastEpoch);
  if (typeof batchCost !== "function") return take(reader, maxBatchSize, maxBatchCost, batchCost === "padded");
  const widest = take(reader, maxBatchSize, Number.POSITIVE_INFINITY, false);
  const items = widest.entries.map(({ item }) => item);
  const { count, cost } = longestFit(items, maxBatchCost, (prefix) => measured(batchCost, prefix));
  if (count === items.length) {
    const isFull = cost >= maxBatchCost && maxBatchCost < Number.POSITIVE_INFINITY;
    return { ...widest, cost: orSum(cost, widest.cost), full: widest.full ?? (isFull ? "cost" : null) };
  }
  const entries = widest.entries.slice(0, count);
  return {
    entries,
    reader: readerOf(entries, lines, caps, now, lastEpoch),
    cost: orSum(cost, costOf(entries)),
    full: "cost",
  };
}

/** A reader that has read these entries and no more, for a reader commits what it has read. */
function readerOf(
  entries: readonly Entry[],
  lines: readonly Line[],
  caps: Caps,
  now: number,
  lastEpoch: number,
): EntryReader {
  const reader = readInOrder(lines, now, caps.priorityAgingMs, lastEpoch);
  for (const entry of entries) {
    // The cost function has submitted something that goes first: the batch stays as it was measured.
    if (reader.entry !== entry) return NOTHING_READ;
    reader.advance();
  }
  return reader;
}

const NOTHING_READ: EntryReader = { entry: null, advance: () => {}, commit: () => {} };

function costOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { cost }) => sum + cost, 0);
}

function take(reader: EntryReader, maxBatchSize: number, maxBatchCost: number, isPadded: boolean): PackedBatch {
  const entries: Entry[] = [];
  let sum = 0;
  let largest = 0;
  let full: Full = null;
  for (let { entry } = reader; entry !== null; { entry } = reader) {
    if (entries.length >= maxBatchSize) break;
    const { cost } = entry;
    const total = isPadded ? (entries.length + 1) * Math.max(largest, cost) : sum + cost;
    if (total > maxBatchCost && entries.length > 0) {
      full = "cost";
      break;
    }
    entries.push(entry);
    sum += cost;
    if (cost > largest) largest = cost;
    reader.advance();
  }
  const cost = isPadded ? entries.length * largest : sum;
  if (entries.length >= maxBatchSize) full = "size";
  else if (cost >= maxBatchCost) full = "cost";
  return { entries, reader, cost, full };
}
