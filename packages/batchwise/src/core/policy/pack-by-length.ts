// The next batch of a lane where the order is by length: the entry that goes first, and of those behind it the ones that
// are cheapest to pad together with it. Nobody is passed over for long: the first one is in every batch. Reads the queue
// and decides; changes nothing.

import type { Entry } from "../queue/entry.ts";
import type { EntryReader } from "../queue/fifo.ts";
import type { Line } from "../queue/lane.ts";
import type { Caps, PackedBatch } from "./caps.ts";
import type { EntrySource } from "./dispatch-order.ts";
import { groupByLength } from "./group-by-length.ts";

/** Those who have waited longest are chosen from: half of what waits, at least and at most so many. */
const NARROWEST = 16;
const WIDEST = 256;

export function packByLength(
  sources: readonly EntrySource[],
  size: number,
  { maxBatchSize, maxBatchCost, fixedCost = 0, share = maxBatchCost }: Caps,
  lastSequence: number,
): PackedBatch {
  const window = windowOf(sources, lastSequence, Math.min(WIDEST, Math.max(NARROWEST, Math.ceil(size / 2))));
  const lengths = window.map(({ cost }) => cost);
  const caps = { maxRows: maxBatchSize, budget: Math.min(maxBatchCost, share), fixedCost };
  const entries = window.length === 0 ? [] : groupByLength(lengths, caps).map((index) => window[index] as Entry);
  const rows = entries.length;
  const isCostly = window.length * Math.max(0, ...lengths) >= maxBatchCost && maxBatchCost < Infinity;
  return {
    entries,
    readers: [new ChosenReader(sources, lastSequence, entries)],
    cost: rows * Math.max(0, ...entries.map(({ cost }) => cost)),
    full: rows >= maxBatchSize ? "size" : isCostly ? "cost" : null,
  };
}

/** The first entries, of the foremost ranks alone where those are enough. */
function windowOf(sources: readonly EntrySource[], lastSequence: number, width: number): Entry[] {
  const window: Entry[] = [];
  for (const source of sources) {
    if (window.length >= NARROWEST) break;
    if (source.isEmpty) continue;
    const reader = source.reader(lastSequence);
    for (; reader.entry !== null && window.length < width; reader.advance(1)) window.push(reader.entry);
  }
  return window;
}

/** Has read a first entry in its turn, and others out of turn, which their tenants are charged for. */
class ChosenReader {
  readonly #reader: EntryReader | null = null;
  readonly #others: readonly Entry[];

  constructor(sources: readonly EntrySource[], lastSequence: number, entries: readonly Entry[]) {
    this.#others = entries.slice(1);
    for (const source of sources) {
      if (source.isEmpty) continue;
      const reader = source.reader(lastSequence);
      if (reader.entry === null || reader.entry !== entries[0]) continue;
      reader.advance(1);
      this.#reader = reader;
      return;
    }
  }

  commit(): void {
    this.#reader?.commit();
    for (const entry of this.#others) (entry.holder as Line).charge(entry);
  }
}
