// Which waiting entries form the next batch of a lane. Reads the queue and decides; changes nothing.
//
// Entries are taken strictly in dispatch order: the highest effective priority first, then the oldest. A batch ends
// before the first entry that does not fit, so no entry is ever overtaken by a cheaper one of its own line. A single
// entry that is over the cap by itself runs alone. Where the order is by length, pack-by-length.ts chooses instead.

import type { Entry } from "../queue/entry.ts";
import type { EntryReader } from "../queue/fifo.ts";
import { longestFit, measured, orSum } from "./batch-cost.ts";
import type { Caps, Full, PackedBatch } from "./caps.ts";
import { type EntrySource, inOrder, type WaitingLines } from "./dispatch-order.ts";
import { packByLength } from "./pack-by-length.ts";

/** Room for a batch is made at once, up to this many entries. */
const MOST_ROOM = 1024;

/** Packs the next batch of a lane, from the entries of the moments up to the one of this sequence. */
export function pack(lane: WaitingLines, caps: Caps, now: number, lastSequence: number): PackedBatch {
  const { batchCost, maxBatchCost, maxBatchSize, priorityAgingMs } = caps;
  const sources = inOrder(lane, now, priorityAgingMs);
  if (caps.order === "length") return packByLength(sources, lane.size, caps, lastSequence);
  const room = Math.min(maxBatchSize, lane.size, MOST_ROOM);
  if (typeof batchCost !== "function") {
    return take(sources, lastSequence, room, maxBatchSize, maxBatchCost, batchCost === "padded");
  }
  const widest = take(sources, lastSequence, room, maxBatchSize, Number.POSITIVE_INFINITY, false);
  const { entries, items } = widest;
  const { count, cost } = longestFit(items, maxBatchCost, (prefix) => measured(batchCost, prefix));
  if (count === items.length) {
    const isFull = cost >= maxBatchCost && maxBatchCost < Number.POSITIVE_INFINITY;
    return { ...widest, cost: orSum(cost, widest.cost), full: widest.full ?? (isFull ? "cost" : null) };
  }
  // What has been read once too often is read anew. If the cost function has submitted something that goes first, the
  // batch stays as it was measured.
  const again = takeFirst(inOrder(lane, now, priorityAgingMs), lastSequence, count);
  const isSame = again.entries.every((entry, index) => entry === entries[index]);
  const cut = isSame ? again : takeFirst([sourceOf(entries)], lastSequence, count);
  return { ...cut, cost: orSum(cost, cut.cost), full: "cost" };
}

function takeFirst(sources: readonly EntrySource[], lastSequence: number, count: number): PackedBatch {
  return take(sources, lastSequence, count, count, Number.POSITIVE_INFINITY, false);
}

/** The first entries that fit. `room`: how many there are likely to be. */
function take(
  sources: readonly EntrySource[],
  lastSequence: number,
  room: number,
  maxBatchSize: number,
  maxBatchCost: number,
  isPadded: boolean,
): PackedBatch {
  const packing = new Packing(room, maxBatchSize, maxBatchCost, isPadded);
  for (const source of sources) {
    if (source.isEmpty) continue;
    packing.take(source.reader(lastSequence));
    if (packing.full !== null) break;
  }
  return packing.end();
}

/** A batch while it is packed. */
class Packing {
  readonly #entries: Entry[];
  readonly #items: unknown[];
  readonly #readers: EntryReader[] = [];
  readonly #maxBatchSize: number;
  readonly #maxBatchCost: number;
  readonly #isPadded: boolean;
  #size = 0;
  #sum = 0;
  #largest = 0;
  full: Full = null;

  constructor(room: number, maxBatchSize: number, maxBatchCost: number, isPadded: boolean) {
    this.#entries = new Array<Entry>(room);
    this.#items = new Array<unknown>(room);
    this.#maxBatchSize = maxBatchSize;
    this.#maxBatchCost = maxBatchCost;
    this.#isPadded = isPadded;
  }

  /** Takes what a reader reads, up to the first entry that does not fit. */
  take(reader: EntryReader): void {
    const entries = this.#entries;
    const items = this.#items;
    const [maxBatchSize, maxBatchCost, isPadded] = [this.#maxBatchSize, this.#maxBatchCost, this.#isPadded];
    let [size, sum, largest] = [this.#size, this.#sum, this.#largest];
    this.#readers.push(reader);
    for (let { entry } = reader; entry !== null && size < maxBatchSize; { entry } = reader) {
      const { cost } = entry;
      const total = isPadded ? (size + 1) * Math.max(largest, cost) : sum + cost;
      if (total > maxBatchCost && size > 0) {
        this.full = "cost";
        break;
      }
      entries[size] = entry;
      items[size] = entry.item;
      size += 1;
      sum += cost;
      if (cost > largest) largest = cost;
      reader.advance();
    }
    if (size >= maxBatchSize) this.full = "size";
    this.#size = size;
    this.#sum = sum;
    this.#largest = largest;
  }

  end(): PackedBatch {
    const size = this.#size;
    const cost = this.#isPadded ? size * this.#largest : this.#sum;
    if (this.full === null && cost >= this.#maxBatchCost) this.full = "cost";
    if (this.#entries.length !== size) {
      this.#entries.length = size;
      this.#items.length = size;
    }
    return { entries: this.#entries, items: this.#items, readers: this.#readers, cost, full: this.full };
  }
}

/** Entries that have been read before. */
function sourceOf(entries: readonly Entry[]): EntrySource {
  return { isEmpty: false, reader: () => new ListReader(entries) };
}

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
