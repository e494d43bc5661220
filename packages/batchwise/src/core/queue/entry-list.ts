// Waiting entries by age, in linked chunks: adding the youngest is O(1) at any depth, and an entry
// leaves without a search, because its chunk is its holder.

import { Linked, LinkedList } from "../time/linked-list.ts";
import type { Entry, EntryHolder, Urgency } from "./entry.ts";

/** Largest number of entries of a chunk. */
export const LONGEST_CHUNK = 512;

/** Of a chunk that is no longer in a list, so that it keeps no entries alive. Never changed. */
const NONE: Entry[] = [];

/** What owns an order of entries: the line. */
export interface EntryOwner extends Pick<EntryHolder, "update"> {
  /** An entry leaves early. */
  left(entry: Entry): void;
}

/** The holder of waiting entries. */
export class Chunk extends Linked<Chunk> implements EntryHolder {
  readonly list: EntryList;
  /** In order of age. */
  entries: Entry[];

  constructor(list: EntryList, entries: Entry[]) {
    super();
    this.list = list;
    this.entries = entries;
    for (const entry of entries) entry.holder = this;
  }

  get isWaiting(): boolean {
    return true;
  }

  left(entry: Entry): void {
    this.list.line.left(entry);
    entry.holder = null;
  }

  update(entry: Entry, joined: Urgency): void {
    this.list.line.update(entry, joined);
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
}

export class EntryList implements EntryOrder {
  readonly line: EntryOwner;
  /** None is empty. */
  readonly #chunks: LinkedList<Chunk> = new LinkedList();

  constructor(line: EntryOwner) {
    this.line = line;
  }

  get oldest(): Entry | null {
    return this.#chunks.first === null ? null : (this.#chunks.first.entries[0] as Entry);
  }

  add(entry: Entry): void {
    const youngest = this.#chunks.last?.entries.at(-1);
    if (youngest !== undefined && youngest.moment.at > entry.moment.at) this.#insert(entry);
    else this.append(entry, LONGEST_CHUNK);
  }

  /** Adds an entry that is not older than the youngest one, to a chunk of at most `length`. */
  append(entry: Entry, length: number): void {
    const last = this.#chunks.last;
    if (last === null || last.entries.length >= length) {
      this.#link([entry], last);
    } else {
      last.entries.push(entry);
      entry.holder = last;
    }
  }

  /** The same for many, in chunks of `length`. */
  appendAll(entries: readonly Entry[], length: number): void {
    for (let from = 0; from < entries.length; from += length) {
      this.#link(entries.slice(from, from + length), this.#chunks.last);
    }
  }

  /** Inserts an older entry after all entries at least as old. */
  #insert(entry: Entry): void {
    const isYounger = ({ moment }: Entry): boolean => moment.at > entry.moment.at;
    let chunk = this.#chunks.first as Chunk;
    while (!isYounger(chunk.entries.at(-1) as Entry)) chunk = chunk.next as Chunk;
    const { entries } = chunk;
    entries.splice(entries.findIndex(isYounger), 0, entry);
    entry.holder = chunk;
    if (entries.length > LONGEST_CHUNK) this.#link(entries.splice(LONGEST_CHUNK / 2), chunk);
  }

  /** Adds a chunk after another one; null: as the first. */
  #link(entries: Entry[], previous: Chunk | null): void {
    this.#chunks.insert(new Chunk(this, entries), previous);
  }

  remove(entries: readonly Entry[], from: number, end: number): void {
    for (let index = from; index < end; ) {
      const chunk = (entries[index] as Entry).holder as Chunk;
      const held = chunk.entries;
      const start = held.indexOf(entries[index] as Entry);
      let count = held === entries ? end : 1;
      while (index + count < end && held[start + count] === entries[index + count]) count += 1;
      index += count;
      if (count < held.length) {
        held.splice(start, count);
      } else {
        this.#chunks.remove(chunk);
        chunk.entries = NONE;
      }
    }
  }

  /** The first `most` entries, or all if fewer, if just these are in the first chunk; else null. */
  whole(most: number): readonly Entry[] | null {
    const first = this.#chunks.first;
    if (first === null || first.entries.length > most) return null;
    return first.next === null || first.entries.length === most ? first.entries : null;
  }

  first(most: number, upTo: number): Entry[] {
    let first: Entry[] = [];
    for (let chunk = this.#chunks.first; chunk !== null && first.length < most; chunk = chunk.next) {
      const { entries } = chunk;
      const covered = upTo === Infinity ? entries : entries.filter(({ moment }) => moment.sequence <= upTo);
      const next = covered.slice(0, most - first.length);
      if (first.length === 0) first = next;
      else first.push(...next);
    }
    return first;
  }
}
