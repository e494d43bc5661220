// Waiting entries by age, as a linked list of arrays: adding is O(1) at any depth, and a deep queue
// costs little garbage collection. Entries of one call keep their array. An entry leaves without a
// search: it is dead once its holder is another one, and is skipped. Memory stays proportional to
// the live entries.

import type { Moment } from "../time/turn.ts";
import type { Entry, EntryHolder } from "./entry.ts";

const LONGEST_CHUNK = 256;
const SHORTEST_CHUNK = 16;

/** An array with capacity for more entries when `waiting` wait, for at most `most`. */
export function roomFor(waiting: number, most: number = Infinity): Entry[] {
  return new Array(Math.min(most, LONGEST_CHUNK, Math.max(SHORTEST_CHUNK, waiting)));
}

/** Dead entries are kept up to the number of live ones plus this many. */
const KEPT_GONE = 64;

class Chunk {
  /** Null if an entry was taken from the front. */
  readonly entries: (Entry | null)[];
  /** Number of used places. */
  length: number;
  next: Chunk | null = null;

  constructor(entries: (Entry | null)[], length: number) {
    this.entries = entries;
    this.length = length;
  }
}

/** An empty chunk. The first entry creates a new one. */
const EMPTY: Chunk = new Chunk([], 0);

/** Reads waiting entries in the order in which they will be dispatched. Reading changes nothing. */
export interface EntryReader {
  /** The next entry in dispatch order; null at the end. */
  readonly entry: Entry | null;
  /** Returns the next 1 to `most` entries as a new array. Requires that an entry is left. */
  ahead(most: number): Entry[];
  /** Skips this many of the next entries. */
  advance(count: number): void;
  /**
   * Applies the read to the order's state, such as the tenants' starts. Call it before taking those
   * entries.
   */
  commit(): void;
}

/** An order of waiting entries. */
export interface EntryOrder {
  /** Number of waiting entries. */
  readonly size: number;
  /** Adds an entry. Returns whether it is now the oldest. */
  push(entry: Entry): boolean;
  /**
   * Adds the first `count` of these entries, none older than a waiting one. The order keeps the
   * array.
   */
  pushAll(entries: Entry[], count: number): void;
  /** Called after the entries of `[from, end)` have left, taken or early. */
  left(entries: readonly Entry[], from: number, end: number): void;
  /** Charges an entry that is taken out of order. Call before removing it. */
  charge(entry: Entry): void;
  /** The entry that came first. */
  readonly oldest: Entry | null;
  /** Reads the entries up to this moment's sequence. */
  reader(lastSequence: number): EntryReader;
}

export class Fifo implements EntryOrder {
  readonly #holder: EntryHolder;
  #first: Chunk = EMPTY;
  #last: Chunk = EMPTY;
  /** Index of the first possibly live entry in the first chunk. */
  #head = 0;
  size = 0;
  /** Dead entries not yet dropped. May be negative during `take`. */
  #gone = 0;
  /** Submit moment of the youngest entry. */
  #lastMoment: Moment | null = null;

  constructor(holder: EntryHolder) {
    this.#holder = holder;
  }

  push(entry: Entry): boolean {
    this.size += 1;
    const { moment } = entry;
    if (moment !== this.#lastMoment) {
      if (this.#lastMoment !== null && moment.at < this.#lastMoment.at && this.size > 1) {
        this.#insert(entry);
        return this.oldest === entry;
      }
      this.#lastMoment = moment;
    }
    if (this.#last.length === this.#last.entries.length) {
      this.#append(new Chunk(roomFor(this.size), 0));
    }
    this.#place(entry);
    return this.size === 1;
  }

  pushAll(entries: Entry[], count: number): void {
    this.size += count;
    this.#lastMoment = (entries[count - 1] as Entry).moment;
    const { length, entries: places } = this.#last;
    if (length + count > places.length) this.#append(new Chunk(entries, count));
    else for (const entry of entries.slice(0, count)) this.#place(entry);
  }

  #place(entry: Entry): void {
    const last = this.#last;
    last.entries[last.length] = entry;
    last.length += 1;
  }

  #append(chunk: Chunk): void {
    if (this.#last === EMPTY) this.#first = chunk;
    else this.#last.next = chunk;
    this.#last = chunk;
  }

  /** Inserts an older entry after all entries at least as old. */
  #insert(entry: Entry): void {
    const { at } = entry.moment;
    let chunk = this.#first;
    while (chunk.next !== null && (chunk.entries[chunk.length - 1] as Entry).moment.at <= at) chunk = chunk.next;
    let index = chunk === this.#first ? this.#head : 0;
    while (index < chunk.length && (chunk.entries[index] as Entry).moment.at <= at) index += 1;
    chunk.entries.splice(index, 0, entry);
    chunk.length += 1;
  }

  get oldest(): Entry | null {
    return this.#first.entries[this.#head] ?? null;
  }

  left(_entries: readonly Entry[], from: number, end: number): void {
    this.size -= end - from;
    this.#gone += end - from;
    this.#dropGone();
    if (this.#gone > this.size + KEPT_GONE) this.#compact();
  }

  charge(): void {}

  reader(lastSequence: number): EntryReader {
    const isWhole = this.#gone === 0 && lastSequence === Infinity;
    return new FifoReader(this, this.#first, this.#head, isWhole ? null : this.#holder, lastSequence);
  }

  /** Drops all entries up to a place: they were read and are taken now, or were dead. */
  dropUpTo(chunk: Chunk, head: number): void {
    while (this.#first !== chunk && this.#first !== EMPTY) this.#dropFirst();
    this.#gone -= head - this.#head;
    for (; this.#head < head; this.#head += 1) chunk.entries[this.#head] = null;
  }

  /** Drops dead entries from the front. */
  #dropGone(): void {
    for (;;) {
      const { entries, length } = this.#first;
      while (this.#head < length && entries[this.#head]?.holder !== this.#holder) {
        entries[this.#head] = null;
        this.#head += 1;
        this.#gone -= 1;
      }
      if (this.#head < length || this.#first === EMPTY) return;
      this.#dropFirst();
    }
  }

  #dropFirst(): void {
    const { length, next } = this.#first;
    this.#gone -= length - this.#head;
    this.#head = 0;
    this.#first = next ?? EMPTY;
    if (next === null) this.#last = EMPTY;
  }

  /** Copies live entries into new chunks. */
  #compact(): void {
    const { size } = this;
    const reader = this.reader(Infinity);
    this.#first = EMPTY;
    this.#last = EMPTY;
    this.#head = 0;
    this.size = 0;
    this.#lastMoment = null;
    for (; reader.entry !== null; reader.advance(1)) this.push(reader.entry);
    this.#gone = this.size - size;
    this.size = size;
  }
}

class FifoReader implements EntryReader {
  readonly #fifo: Fifo;
  /** The holder of the entries to read; null to read all. */
  readonly #holder: EntryHolder | null;
  readonly #lastSequence: number;
  #chunk: Chunk;
  #index: number;
  entry: Entry | null = null;

  constructor(fifo: Fifo, chunk: Chunk, index: number, holder: EntryHolder | null, lastSequence: number) {
    this.#fifo = fifo;
    this.#chunk = chunk;
    this.#index = index;
    this.#holder = holder;
    this.#lastSequence = lastSequence;
    this.advance(0);
  }

  ahead(most: number): Entry[] {
    const { entries, length } = this.#chunk;
    const last = Math.min(length, this.#index + most);
    let end = this.#holder === null ? last : this.#index;
    while (end < last && this.#isRead(entries[end] as Entry)) end += 1;
    return entries.slice(this.#index, end) as Entry[];
  }

  advance(count: number): void {
    for (this.#index += count; ; this.#index = 0) {
      const { entries, length, next } = this.#chunk;
      for (; this.#index < length; this.#index += 1) {
        this.entry = entries[this.#index] as Entry;
        if (this.#isRead(this.entry)) return;
      }
      this.entry = null;
      if (next === null) return;
      this.#chunk = next;
    }
  }

  #isRead({ holder, moment }: Entry): boolean {
    return this.#holder === null || (holder === this.#holder && moment.sequence <= this.#lastSequence);
  }

  commit(): void {
    // Entries beyond the limit are skipped and keep waiting.
    if (this.#lastSequence === Infinity) this.#fifo.dropUpTo(this.#chunk, this.#index);
  }
}
