// Reads the first entries of several sources in the order of their ranks. The sources are in a heap
// by the ranks of their oldest entries and are opened only when needed, so thousands of sources
// cost as much as those of one batch.

import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry } from "./entry.ts";
import type { EntryOrder } from "./entry-list.ts";

/** A source of entries in order, among others: a line of a lane, or a tenant of a line. */
export interface Source extends Pick<EntryOrder, "first"> {
  /**
   * The rank of the next entry; the smallest goes first. `gone`: the entry before it, with this
   * `rank`; null if none was read, and then `rank` is the source's.
   */
  nextRank(next: Entry, gone: Entry | null, rank: number): number;
  /** Decides between equal ranks, for an entry that is not the first of its source. */
  tieOf(next: Entry): number;
}

/** So many entries of a source are read first, and each time as many times more. */
const FIRST_READ = 16;
const MORE = 4;

/** An opened source. Its key is the rank of its next entry. */
class Opened extends HeapNode<HeapNode<Source>> {
  /** True once the sources directly below it in the heap are opened too. */
  isExpanded = false;
  readonly #upTo: number;
  #most = FIRST_READ;
  #read: readonly Entry[];
  #index = 0;

  constructor(place: HeapNode<Source>, upTo: number) {
    super(place);
    this.#upTo = upTo;
    this.#read = place.value.first(FIRST_READ, upTo);
  }

  get next(): Entry | undefined {
    return this.#read[this.#index];
  }

  /** Moves on to the next entry, and returns it. */
  advance(): Entry | undefined {
    this.#index += 1;
    if (this.#index === this.#most) {
      this.#most *= MORE;
      this.#read = this.value.value.first(this.#most, this.#upTo);
    }
    return this.next;
  }
}

/** The next entries, at most `most`, of moments up to this sequence. Changes nothing. */
export function merged(sources: Heap<Source>, most: number, upTo: number): Entry[] {
  const first: Entry[] = [];
  /** Opened sources that have a next entry. The first one is expanded. */
  const opened: Heap<HeapNode<Source>> = new Heap();
  const open = (place: HeapNode<Source> | undefined): void => {
    if (place === undefined) return;
    const source = place.value;
    const one = new Opened(place, upTo);
    const { next } = one;
    const rank = next === undefined ? Infinity : source.nextRank(next, null, place.key);
    // If the oldest entry is not read, sources below may come before the opened ones.
    if (rank !== place.key) expand(one);
    if (next !== undefined) opened.add(one, rank, rank === place.key ? place.tie : source.tieOf(next), place.tier);
  };
  const expand = (one: Opened): void => {
    one.isExpanded = true;
    for (const place of sources.below(one.value)) open(place);
  };
  open(sources.first);
  while (first.length < most) {
    const one = opened.first as Opened | undefined;
    if (one === undefined) break;
    if (!one.isExpanded) {
      expand(one);
      continue;
    }
    const gone = one.next as Entry;
    first.push(gone);
    const next = one.advance();
    const { key, value } = one;
    if (next === undefined) opened.remove(one);
    else opened.move(one, value.value.nextRank(next, gone, key), value.value.tieOf(next));
  }
  return first;
}
