// Waiting entries in the order of their age, as a linked list of short arrays: adding is O(1) at any depth, and a deep
// queue costs the garbage collector little. Entries leave without telling it where they lie: one that is no longer held by
// the fifo's holder counts as gone and is skipped. Memory stays in proportion to what waits.

import type { Moment } from "../time/turn.ts";
import type { Entry, EntryHolder } from "./entry.ts";

const CHUNK_LENGTH = 256;
/** Gone entries are kept up to as many as wait, and this many. */
const KEPT_GONE = 64;

interface Chunk {
  /** Null where an entry was taken from the front. */
  readonly entries: (Entry | null)[];
  next: Chunk | null;
}

/** Reads waiting entries in the order in which they will be dispatched. Reading changes nothing. */
export interface EntryReader {
  /** The entry that goes next; null at the end. */
  readonly entry: Entry | null;
  advance(): void;
  /** Makes the order's own state (whose round it is) agree with what was read. Called before those entries are taken. */
  commit(): void;
}

/** An order among waiting entries. */
export interface EntryOrder {
  /** How many entries wait. */
  readonly size: number;
  /** Returns whether the entry is the oldest now. */
  push(entry: Entry): boolean;
  /** Called after the entries of `[from, end)` have left, taken or early. */
  left(entries: readonly Entry[], from: number, end: number): void;
  /** The entry that came first. */
  readonly oldest: Entry | null;
  /** Over the entries up to an epoch. */
  reader(lastEpoch: number): EntryReader;
}

export class Fifo implements EntryOrder {
  readonly #holder: EntryHolder;
  #first: Chunk = { entries: [], next: null };
  #last: Chunk = this.#first;
  /** Where the first entry that may be waiting lies in the first chunk. */
  #head = 0;
  #waiting = 0;
  #gone = 0;
  /** When the youngest entry was submitted. */
  #lastMoment: Moment | null = null;

  constructor(holder: EntryHolder) {
    this.#holder = holder;
  }

  get size(): number {
    return this.#waiting;
  }

  push(entry: Entry): boolean {
    this.#waiting += 1;
    if (entry.moment !== this.#lastMoment) {
      if (this.#lastMoment !== null && entry.moment.at < this.#lastMoment.at && this.#waiting > 1) {
        this.#insert(entry);
        return this.oldest === entry;
      }
      this.#lastMoment = entry.moment;
    }
    let last = this.#last;
    if (last.entries.length >= CHUNK_LENGTH) {
      last = { entries: [], next: null };
      this.#last.next = last;
      this.#last = last;
    }
    last.entries.push(entry);
    return this.#waiting === 1;
  }

  /** Puts an entry that is older than the last one behind those that are no younger. */
  #insert(entry: Entry): void {
    const { at } = entry.moment;
    let chunk = this.#first;
    while (chunk.next !== null && (chunk.entries.at(-1) as Entry).moment.at <= at) chunk = chunk.next;
    let index = chunk === this.#first ? this.#head : 0;
    while (index < chunk.entries.length && (chunk.entries[index] as Entry).moment.at <= at) index += 1;
    chunk.entries.splice(index, 0, entry);
  }

  get oldest(): Entry | null {
    return this.#first.entries[this.#head] ?? null;
  }

  left(_entries: readonly Entry[], from: number, end: number): void {
    this.#waiting -= end - from;
    this.#gone += end - from;
    this.#dropGone();
    if (this.#gone > this.#waiting + KEPT_GONE) this.#compact();
  }

  reader(lastEpoch: number): EntryReader {
    return new FifoReader(this.#first, this.#head, this.#holder, lastEpoch);
  }

  /** Drops entries that are gone from the front. */
  #dropGone(): void {
    for (;;) {
      const { entries, next } = this.#first;
      while (this.#head < entries.length && entries[this.#head]?.holder !== this.#holder) {
        entries[this.#head] = null;
        this.#head += 1;
        this.#gone -= 1;
      }
      if (this.#head < entries.length) return;
      this.#head = 0;
      if (next === null) {
        // A new array: the old one may be long, and may have grown old.
        if (entries.length > 0) this.#first = this.#last = { entries: [], next: null };
        return;
      }
      this.#first = next;
    }
  }

  #compact(): void {
    const reader = this.reader(Number.POSITIVE_INFINITY);
    this.#first = { entries: [], next: null };
    this.#last = this.#first;
    this.#head = 0;
    this.#waiting = 0;
    this.#gone = 0;
    for (; reader.entry !== null; reader.advance()) this.push(reader.entry);
  }
}

class FifoReader implements EntryReader {
  readonly #holder: EntryHolder;
  readonly #lastEpoch: number;
  #chunk: Chunk;
  #index: number;
  entry: Entry | null = null;

  constructor(chunk: Chunk, index: number, holder: EntryHolder, lastEpoch: number) {
    this.#chunk = chunk;
    this.#index = index - 1;
    this.#holder = holder;
    this.#lastEpoch = lastEpoch;
    this.advance();
  }

  advance(): void {
    for (;;) {
      this.#index += 1;
      if (this.#index >= this.#chunk.entries.length) {
        const { next } = this.#chunk;
        if (next === null) {
          this.#index -= 1;
          this.entry = null;
          return;
        }
        this.#chunk = next;
        this.#index = 0;
      }
      const entry = this.#chunk.entries[this.#index] ?? null;
      if (entry !== null && entry.holder === this.#holder && entry.epoch <= this.#lastEpoch) {
        this.entry = entry;
        return;
      }
    }
  }

  commit(): void {}
}
