// Chunks of a line's waiting entries, linked by age: adding the youngest is O(1) at any depth, and
// an entry leaves without a search, because its chunk is its holder. A batch that takes a whole
// chunk need not touch its entries.

import { Linked } from "../time/linked-list.ts";
import type { Entry, EntryHolder, Urgency } from "./entry.ts";
import type { Line } from "./line.ts";

/** Largest number of entries of a chunk. */
export const LONGEST_CHUNK = 512;

/** A holder of waiting entries of a line, among others. */
export abstract class WaitingHolder<Node> extends Linked<Node> implements EntryHolder {
  readonly line: Line;
  /** The batch that has taken all of its entries; null while they wait. */
  taker: EntryHolder | null = null;

  constructor(line: Line) {
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

  constructor(line: Line, entries: Entry[]) {
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
