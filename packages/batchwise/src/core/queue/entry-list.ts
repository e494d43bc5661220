// Waiting entries by age, in chunks: adding the youngest is O(1) at any depth, and an entry leaves
// without a search, because its chunk is its holder.

import type { Entry, EntryHolder } from "./entry.ts";

/** Largest number of entries of a chunk. */
export const LONGEST_CHUNK = 512;

/** What owns an order of entries: the line. */
export interface EntryOwner extends Pick<EntryHolder, "raise" | "noteDeadline"> {
  /** An entry leaves early. */
  left(entry: Entry): void;
}

/** The holder of waiting entries. */
export class Chunk implements EntryHolder {
  readonly isWaiting = true;
  readonly list: EntryList;
  readonly line: EntryOwner;
  /** In order of age. */
  entries: Entry[] = [];

  constructor(list: EntryList) {
    this.list = list;
    this.line = list.line;
  }

  left(entry: Entry): void {
    this.line.left(entry);
    entry.holder = null;
  }

  raise(entry: Entry, priority: number): void {
    if (priority > entry.priority) this.line.raise(entry, priority);
  }

  noteDeadline(entry: Entry): void {
    this.line.noteDeadline(entry);
  }
}

/** An order of waiting entries. */
export interface EntryOrder {
  /** The entry that came first. */
  readonly oldest: Entry | null;
  add(entry: Entry): void;
  /** Removes the entries of `[from, end)`, which it holds. `isServed`: a batch takes them. */
  remove(entries: readonly Entry[], from: number, end: number, isServed: boolean): void;
  /** The next entries, at most `most`, of moments up to this sequence. Changes nothing. */
  first(most: number, upTo: number): Entry[];
  /** Yields the entries of moments up to this sequence, in order. Changes nothing. */
  each(upTo: number): Iterator<Entry>;
}

export class EntryList implements EntryOrder {
  readonly line: EntryOwner;
  /** None is empty, unless it is the only one. */
  readonly #chunks: Chunk[] = [];

  constructor(line: EntryOwner) {
    this.line = line;
  }

  get oldest(): Entry | null {
    return this.#chunks[0]?.entries[0] ?? null;
  }

  add(entry: Entry): void {
    let chunk = this.#chunks[this.#chunks.length - 1];
    const youngest = chunk?.entries[chunk.entries.length - 1];
    if (youngest !== undefined && youngest.moment.at > entry.moment.at) {
      this.#insert(entry);
      return;
    }
    if (chunk === undefined || chunk.entries.length >= LONGEST_CHUNK) {
      chunk = new Chunk(this);
      this.#chunks.push(chunk);
    }
    chunk.entries.push(entry);
    entry.holder = chunk;
  }

  /** Adds a chunk of entries that are not older than the youngest one. */
  link(chunk: Chunk): void {
    if (this.oldest === null) this.#chunks.length = 0;
    this.#chunks.push(chunk);
  }

  /** Inserts an older entry after all entries at least as old. */
  #insert(entry: Entry): void {
    const isYounger = ({ moment }: Entry | undefined = entry): boolean => moment.at > entry.moment.at;
    const index = this.#chunks.findIndex(({ entries }) => isYounger(entries.at(-1)));
    const chunk = this.#chunks[index] as Chunk;
    const { entries } = chunk;
    entries.splice(entries.findIndex(isYounger), 0, entry);
    entry.holder = chunk;
    if (entries.length <= LONGEST_CHUNK) return;
    const next = new Chunk(this);
    next.entries = entries.splice(LONGEST_CHUNK / 2);
    for (const moved of next.entries) moved.holder = next;
    this.#chunks.splice(index + 1, 0, next);
  }

  remove(entries: readonly Entry[], from: number, end: number): void {
    for (let index = from; index < end; ) {
      const chunk = (entries[index] as Entry).holder as Chunk;
      const held = chunk.entries;
      const start = held.indexOf(entries[index] as Entry);
      let count = 1;
      while (index + count < end && held[start + count] === entries[index + count]) count += 1;
      index += count;
      if (count < held.length) held.splice(start, count);
      else if (this.#chunks.length === 1) chunk.entries = [];
      else this.#chunks.splice(this.#chunks.indexOf(chunk), 1);
    }
  }

  first(most: number, upTo: number): Entry[] {
    let first: Entry[] = [];
    for (const { entries } of this.#chunks) {
      if (first.length >= most) break;
      const covered = upTo === Infinity ? entries : entries.filter(({ moment }) => moment.sequence <= upTo);
      const next = covered.slice(0, most - first.length);
      if (first.length === 0) first = next;
      else first.push(...next);
    }
    return first;
  }

  *each(upTo: number): Generator<Entry, undefined> {
    for (const { entries } of this.#chunks) {
      for (const entry of entries) if (entry.moment.sequence <= upTo) yield entry;
    }
  }
}
