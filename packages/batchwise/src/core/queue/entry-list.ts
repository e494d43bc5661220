// Waiting entries by age, in linked chunks: adding the youngest is O(1) at any depth, and an entry
// leaves without a search, because its chunk is its holder. A batch that takes a whole chunk need
// not touch its entries.

import { type Ends, Linked, link, unlink } from "../time/linked-list.ts";
import type { Moment } from "../time/turn.ts";
import type { Entry, EntryHolder, Urgency } from "./entry.ts";

/** Largest number of entries of a chunk. */
export const LONGEST_CHUNK = 512;

/** Entries of an unlinked chunk, so that it keeps no entries alive. Never changed. */
const NONE: Entry[] = [];

/** What owns an order of entries: the line. */
export type EntryOwner = Pick<EntryHolder, "left" | "update">;

/** A holder of waiting entries of a line, among others. */
export abstract class WaitingHolder<Node> extends Linked<Node> implements EntryHolder {
  abstract readonly line: EntryOwner;
  /** The batch that has taken all of its entries; null while they wait. */
  taker: EntryHolder | null = null;

  get isWaiting(): boolean {
    return this.taker === null;
  }

  left(entry: Entry, dueAt: number): void {
    (this.taker ?? this.line).left(entry, dueAt);
    if (this.isWaiting) entry.holder = null;
  }

  update(entry: Entry, joined: Urgency): void {
    (this.taker ?? this.line).update(entry, joined);
  }
}

export class Chunk extends WaitingHolder<Chunk> {
  readonly list: EntryList;
  /** In order of age. */
  entries: Entry[];
  /** Sum of their costs; NaN since others than the youngest have come or left. */
  #cost = 0;

  constructor(list: EntryList, entries: Entry[]) {
    super();
    this.list = list;
    this.entries = entries;
    for (const entry of entries) this.#hold(entry);
  }

  get line(): EntryOwner {
    return this.list.line;
  }

  /** Sum of its entries' costs. */
  get cost(): number {
    if (Number.isNaN(this.#cost)) this.#cost = this.entries.reduce((sum, { cost }) => sum + cost, 0);
    return this.#cost;
  }

  push(entry: Entry): void {
    this.entries.push(entry);
    this.#hold(entry);
  }

  #hold(entry: Entry): void {
    entry.holder = this;
    this.#cost += entry.cost;
  }

  insert(index: number, entry: Entry): void {
    this.entries.splice(index, 0, entry);
    entry.holder = this;
    this.#cost = Number.NaN;
  }

  remove(start: number, count: number): void {
    if (start === 0 && count === 1) this.entries.shift();
    else this.entries.splice(start, count);
    this.#cost = Number.NaN;
  }
}

/** Reads entries in order, and changes nothing. Not to be used after a change. */
export interface Reader {
  /** Returns the next entry; undefined at the end. */
  read(): Entry | undefined;
}

/** An order of waiting entries. */
export interface EntryOrder {
  /** The entry that came first. */
  readonly oldest: Entry | null;
  /** Returns whether the entry is now the oldest. */
  add(entry: Entry): boolean;
  /** Removes the entries of `[from, end)`, which it holds. `isServed`: a batch takes them. */
  remove(entries: readonly Entry[], from: number, end: number, isServed: boolean): void;
  /** A reader of the entries of moments up to this sequence. */
  reader(upTo: number): Reader;
}

/** A list of chunks, none of which is empty. */
export abstract class EntryList implements Ends<Chunk>, EntryOrder {
  abstract readonly line: EntryOwner;
  first: Chunk | null = null;
  last: Chunk | null = null;
  /** The moment of the last entry that was appended, or another one as early. */
  #lastMoment: Moment | null = null;

  get oldest(): Entry | null {
    return this.first === null ? null : (this.first.entries[0] as Entry);
  }

  add(entry: Entry): boolean {
    if (entry.moment !== this.#lastMoment && !this.#isYoungest(entry)) return this.#insertByAge(entry);
    const { last } = this;
    if (last === null || last.entries.length >= this.chunkLength) return this.#append([entry]);
    last.push(entry);
    return false;
  }

  /** True unless an entry is younger. */
  #isYoungest({ moment }: Entry): boolean {
    const youngest = this.last?.entries.at(-1);
    if (youngest !== undefined && youngest.moment.at > moment.at) return false;
    this.#lastMoment = moment;
    return true;
  }

  /** Adds a chunk. Returns whether it is the only one. */
  #append(entries: Entry[]): boolean {
    link(this, new Chunk(this, entries), this.last);
    return this.first === this.last;
  }

  /** The same for entries that are not older than the youngest one. */
  addAll(entries: readonly Entry[]): boolean {
    const wasEmpty = this.first === null;
    const length = this.chunkLength;
    let from = 0;
    const { last } = this;
    for (; last !== null && last.entries.length < length && from < entries.length; from += 1) {
      last.push(entries[from] as Entry);
    }
    for (; from < entries.length; from += length) this.#append(entries.slice(from, from + length));
    this.#lastMoment = entries.at(-1)?.moment ?? null;
    return wasEmpty;
  }

  /** Most entries of a chunk. */
  get chunkLength(): number {
    return LONGEST_CHUNK;
  }

  /** Inserts an older entry after all entries at least as old. Joins short chunks before it. */
  #insertByAge(entry: Entry): boolean {
    const isYounger = ({ moment }: Entry): boolean => moment.at > entry.moment.at;
    let chunk = this.first as Chunk;
    while (!isYounger(chunk.entries.at(-1) as Entry)) {
      const { previous } = chunk;
      if (previous !== null && previous.entries.length + chunk.entries.length <= LONGEST_CHUNK / 2) {
        this.#join(previous, chunk);
        chunk = previous;
      }
      chunk = chunk.next as Chunk;
    }
    const { entries } = chunk;
    chunk.insert(entries.findIndex(isYounger), entry);
    if (entries.length > LONGEST_CHUNK) link(this, new Chunk(this, entries.splice(LONGEST_CHUNK / 2)), chunk);
    return this.oldest === entry;
  }

  remove(entries: readonly Entry[], from: number, end: number): void {
    for (let index = from; index < end; ) {
      const chunk = (entries[index] as Entry).holder as Chunk;
      const held = chunk.entries;
      if (held === entries) {
        this.#drop(chunk);
        return;
      }
      const start = held.indexOf(entries[index] as Entry);
      let count = 1;
      while (index + count < end && held[start + count] === entries[index + count]) count += 1;
      index += count;
      if (count === held.length) this.#drop(chunk);
      else chunk.remove(start, count);
    }
  }

  #join(chunk: Chunk, next: Chunk): void {
    for (const entry of next.entries) chunk.push(entry);
    this.#drop(next);
  }

  #drop(chunk: Chunk): void {
    unlink(this, chunk);
    chunk.entries = NONE;
  }

  /** The first chunk, if it has just the first `most` entries, or all if fewer; else null. */
  whole(most: number): Chunk | null {
    const { first } = this;
    if (first === null || first.entries.length > most) return null;
    return first.next === null || first.entries.length === most ? first : null;
  }

  reader(upTo: number): Reader {
    return new ListReader(this.first, upTo);
  }
}

class ListReader implements Reader {
  #chunk: Chunk | null;
  #index = 0;
  readonly #upTo: number;

  constructor(first: Chunk | null, upTo: number) {
    this.#chunk = first;
    this.#upTo = upTo;
  }

  read(): Entry | undefined {
    while (this.#chunk !== null) {
      const entry = this.#chunk.entries[this.#index];
      this.#index += 1;
      if (entry === undefined) {
        this.#chunk = this.#chunk.next;
        this.#index = 0;
      } else if (this.#upTo === Infinity || entry.moment.sequence <= this.#upTo) {
        return entry;
      }
    }
    return undefined;
  }
}
