// Chunks of a line's waiting entries, linked by age: adding the youngest is O(1) at any depth, and
// an entry leaves without a search, because its chunk is its holder. A batch that takes a whole
// chunk need not touch its entries.

import { type Ends, Linked, link, unlink } from "../time/linked-list.ts";
import type { Entry, EntryHolder, Urgency } from "./entry.ts";

/** Largest number of entries of a chunk. */
export const LONGEST_CHUNK = 512;

/** Entries of an unlinked chunk, so that it keeps no entries alive. Never changed. */
const NONE: Entry[] = [];

/** The line of a holder. */
export type EntryOwner = Pick<EntryHolder, "left" | "update">;

/** A holder of waiting entries of a line, among others. */
export abstract class WaitingHolder<Node> extends Linked<Node> implements EntryHolder {
  readonly line: EntryOwner;
  /** The batch that has taken all of its entries; null while they wait. */
  taker: EntryHolder | null = null;

  constructor(line: EntryOwner) {
    super();
    this.line = line;
  }

  get isWaiting(): boolean {
    return this.taker === null;
  }

  left(entry: Entry, dueAt: number): void {
    (this.taker ?? this.line).left(entry, dueAt);
  }

  update(entry: Entry, joined: Urgency): void {
    (this.taker ?? this.line).update(entry, joined);
  }
}

export class Chunk extends WaitingHolder<Chunk> {
  /** In order of age. */
  entries: Entry[];
  /** Sum of their costs; NaN since others than the youngest have come or left. */
  #cost = 0;

  constructor(line: EntryOwner, entries: Entry[]) {
    super(line);
    this.entries = entries;
    for (const entry of entries) this.#hold(entry);
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
    this.entries.splice(start, count);
    this.#cost = Number.NaN;
  }
}

/** Reads entries in order, and changes nothing. Not to be used after a change. */
export interface Reader {
  /** Returns the next entry; undefined at the end. */
  read(): Entry | undefined;
}

/** Reads the entries of chunks, from this one on, of moments up to this sequence. */
export class ChunkReader implements Reader {
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

/** Inserts an older entry after all entries at least as old. Joins short chunks before it. */
export function insertByAge(list: Ends<Chunk>, entry: Entry): void {
  const isYounger = ({ moment }: Entry): boolean => moment.at > entry.moment.at;
  let chunk = list.first as Chunk;
  while (!isYounger(chunk.entries.at(-1) as Entry)) {
    const { previous } = chunk;
    if (previous !== null && previous.entries.length + chunk.entries.length <= LONGEST_CHUNK / 2) {
      for (const moved of chunk.entries) previous.push(moved);
      drop(list, chunk);
      chunk = previous;
    }
    chunk = chunk.next as Chunk;
  }
  const { entries, line } = chunk;
  chunk.insert(entries.findIndex(isYounger), entry);
  if (entries.length > LONGEST_CHUNK) link(list, new Chunk(line, entries.splice(LONGEST_CHUNK / 2)), chunk);
}

/** Removes the entries of `[from, end)`, which the list has. */
export function remove(list: Ends<Chunk>, entries: readonly Entry[], from: number, end: number): void {
  for (let index = from; index < end; ) {
    const chunk = (entries[index] as Entry).holder as Chunk;
    const held = chunk.entries;
    if (held === entries) {
      drop(list, chunk);
      return;
    }
    const start = held.indexOf(entries[index] as Entry);
    let count = 1;
    while (index + count < end && held[start + count] === entries[index + count]) count += 1;
    index += count;
    if (count === held.length) drop(list, chunk);
    else chunk.remove(start, count);
  }
}

function drop(list: Ends<Chunk>, chunk: Chunk): void {
  unlink(list, chunk);
  chunk.entries = NONE;
}
