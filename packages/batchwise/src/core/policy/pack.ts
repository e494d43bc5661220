// Which waiting entries form the next batch of a lane. Reads the queue and decides; changes nothing.
//
// Entries are taken strictly in dispatch order: the highest effective priority first, then the oldest. A batch ends
// before the first entry that does not fit, so no entry is ever overtaken by a cheaper one of its own line. A single
// entry that is over the cap by itself runs alone.

import type { Measure } from "../contract/options.ts";
import type { Entry } from "../queue/entry.ts";
import type { EntryReader } from "../queue/fifo.ts";
import type { BatchPlan } from "../queue/queue.ts";
import type { Moment } from "../time/turn.ts";
import { longestFit, measured, orSum } from "./batch-cost.ts";
import { readInOrder, type WaitingLines } from "./dispatch-order.ts";

export interface Caps {
  readonly maxBatchSize: number;
  readonly maxBatchCost: number;
  readonly batchCost: Measure<unknown>;
  readonly priorityAgingMs: number;
}

/** Which cap closed a batch; null where everything that waits is in it and more would fit. */
export type Full = "size" | "cost" | null;

/** How many entries of a batch were submitted at one moment. */
export interface MomentCount {
  readonly moment: Moment;
  count: number;
}

export interface PackedBatch extends BatchPlan {
  readonly items: unknown[];
  /** Of neighbours in the batch. */
  readonly moments: readonly MomentCount[];
  readonly cost: number;
  readonly full: Full;
}

/** Room for a batch is made at once, up to this many entries. */
const MOST_ROOM = 1024;

/** Packs the next batch of a lane, from the entries up to an epoch. */
export function pack(lane: WaitingLines, caps: Caps, now: number, lastEpoch: number): PackedBatch {
  const { batchCost, maxBatchCost, maxBatchSize } = caps;
  const reader = readInOrder(lane, now, caps.priorityAgingMs, lastEpoch);
  const waiting = lane.size;
  if (typeof batchCost !== "function") {
    return take(reader, waiting, maxBatchSize, maxBatchCost, batchCost === "padded");
  }
  const widest = take(reader, waiting, maxBatchSize, Number.POSITIVE_INFINITY, false);
  const { items } = widest;
  const { count, cost } = longestFit(items, maxBatchCost, (prefix) => measured(batchCost, prefix));
  if (count === items.length) {
    const isFull = cost >= maxBatchCost && maxBatchCost < Number.POSITIVE_INFINITY;
    return { ...widest, cost: orSum(cost, widest.cost), full: widest.full ?? (isFull ? "cost" : null) };
  }
  const cut = take(new ListReader(widest.entries), count, count, Number.POSITIVE_INFINITY, false);
  const again = readerOf(cut.entries, lane, caps, now, lastEpoch);
  return { ...cut, reader: again, cost: orSum(cost, cut.cost), full: "cost" };
}

/** A reader that has read these entries and no more, for a reader commits what it has read. */
function readerOf(
  entries: readonly Entry[],
  lane: WaitingLines,
  caps: Caps,
  now: number,
  lastEpoch: number,
): EntryReader {
  const reader = readInOrder(lane, now, caps.priorityAgingMs, lastEpoch);
  for (const entry of entries) {
    // The cost function has submitted something that goes first: the batch stays as it was measured.
    if (reader.entry !== entry) return new ListReader([]);
    reader.advance();
  }
  return reader;
}

/** Reads entries that have been read before. */
class ListReader implements EntryReader {
  readonly #entries: readonly Entry[];
  #index = 0;

  constructor(entries: readonly Entry[]) {
    this.#entries = entries;
  }

  get entry(): Entry | null {
    return this.#entries[this.#index] ?? null;
  }

  advance(): void {
    this.#index += 1;
  }

  commit(): void {}
}

/** The first entries that fit, of `waiting` in all. */
function take(
  reader: EntryReader,
  waiting: number,
  maxBatchSize: number,
  maxBatchCost: number,
  isPadded: boolean,
): PackedBatch {
  const room = Math.min(maxBatchSize, waiting, MOST_ROOM);
  const entries = new Array<Entry>(room);
  const items = new Array<unknown>(room);
  let size = 0;
  const moments: MomentCount[] = [];
  let last: MomentCount | undefined;
  let sum = 0;
  let largest = 0;
  let full: Full = null;
  for (let { entry } = reader; entry !== null; { entry } = reader) {
    if (size >= maxBatchSize) break;
    const { cost, moment } = entry;
    const total = isPadded ? (size + 1) * Math.max(largest, cost) : sum + cost;
    if (total > maxBatchCost && size > 0) {
      full = "cost";
      break;
    }
    entries[size] = entry;
    items[size] = entry.item;
    size += 1;
    if (last === undefined || last.moment !== moment) {
      last = { moment, count: 0 };
      moments.push(last);
    }
    last.count += 1;
    sum += cost;
    if (cost > largest) largest = cost;
    reader.advance();
  }
  entries.length = size;
  items.length = size;
  const cost = isPadded ? size * largest : sum;
  if (size >= maxBatchSize) full = "size";
  else if (cost >= maxBatchCost) full = "cost";
  return { entries, items, moments, reader, cost, full };
}
