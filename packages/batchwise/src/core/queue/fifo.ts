// Waiting entries in the order of their age, as a linked list of arrays: adding is O(1) at any
// depth, and a deep queue costs the garbage collector little. Entries that come in together keep
// the array in which they came. Entries leave without telling it where they lie: one that is no
// longer held by the fifo's holder counts as gone and is skipped. Memory stays in proportion to
// what waits.

import type { Moment } from "../time/turn.ts";
import type { Entry, EntryHolder } from "./entry.ts";

const LONGEST_CHUNK = 256;
const SHORTEST_CHUNK = 16;

/** Room for more entries where so many wait, for `most` at most. */
export function roomFor(waiting: number, most: number = Infinity): Entry[] {
  return new Array(Math.min(most, LONGEST_CHUNK, Math.max(SHORTEST_CHUNK, waiting)));
}

/** Gone entries are kept up to as many as wait, and this many. */
const KEPT_GONE = 64;

class Chunk {
  /** Null where an entry was taken from the front. */
  readonly entries: (Entry | null)[];
  /** How many places are in use. */
  length: number;
  next: Chunk | null = null;

  constructor(entries: (Entry | null)[], length: number) {
    this.entries = entries;
    this.length = length;
  }
}

/** Takes no entry: the first one makes a chunk of its own. */
const EMPTY: Chunk = new Chunk([], 0);

/** Reads waiting entries in the order in which they will be dispatched. Reading changes nothing. */
export interface EntryReader {
  /** The entry that goes next; null at the end. */
  readonly entry: Entry | null;
  /**
   * Some of the entries that go next, in an array of their own: one at least, `most` at most. Not
   * to be called at the end.
   */
  ahead(most: number): Entry[];
  /** Goes on by so many of the entries that are ahead. */
  advance(count: number): void;
  /**
   * Makes the order's own state (whose round it is) agree with what was read. Called before those
   * entries are taken.
   */
  commit(): void;
}

/** An order among waiting entries. */
export interface EntryOrder {
  /** How many entries wait. */
  readonly size: number;
  /** Returns whether the entry is the oldest now. */
  push(entry: Entry): boolean;
  /**
   * Adds the first `count` of these entries, none of which is older than what waits. The array is
   * the order's own then.
   */
  pushAll(entries: Entry[], count: number): void;
  /** Called after the entries of `[from, end)` have left, taken or early. */
  left(entries: readonly Entry[], from: number, end: number): void;
  /** Charges an entry that is taken out of order. Call before removing it. */
  charge(entry: Entry): void;
  /** The entry that came first. */
  readonly oldest: Entry | null;
  /** Over the entries of the moments up to the one of this sequence. */
  reader(lastSequence: number): EntryReader;
}

export class Fifo implements EntryOrder {
  readonly #holder: EntryHolder;
  #first: Chunk = EMPTY;
  #last: Chunk = EMPTY;
  /** Where the first entry that may be waiting lies in the first chunk. */
  #head = 0;
  size = 0;
  /**
   * Places of entries that are gone. Below 0 while a batch that was dropped from the front is not
   * told of.
   */
  #gone = 0;
  /** When the youngest entry was submitted. */
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

  /** Puts an entry that is older than the last one behind those that are no younger. */
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

  /** Drops all up to a place: it was read, and is taken now or was gone before. */
  dropUpTo(chunk: Chunk, head: number): void {
    while (this.#first !== chunk && this.#first !== EMPTY) this.#dropFirst();
    this.#gone -= head - this.#head;
    for (; this.#head < head; this.#head += 1) chunk.entries[this.#head] = null;
  }

  /** Drops entries that are gone from the front. */
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

  /**
   * Takes what waits into new chunks. A batch may be half told of: what is to come of it is not in
   * them any more.
   */
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
  /** The holder of the entries that are read; null where that is all of them. */
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
    // What was not asked for is passed over, and waits on.
    if (this.#lastSequence === Infinity) this.#fifo.dropUpTo(this.#chunk, this.#index);
  }
}
