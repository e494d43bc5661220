// Reads the entries of several sources in the order of their ranks. A heap orders the sources by
// the ranks of their oldest entries. A source is opened only when needed, so thousands of sources
// cost as much as the sources of one batch.

import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry } from "./entry.ts";
import type { EntryOrder, Reader } from "./entry-list.ts";

/** A source of entries in order, among others: a line of a lane, or a tenant of a line. */
export interface Source extends Pick<EntryOrder, "reader"> {
  /**
   * The rank of the next entry; the smallest goes first. `gone`: the entry before it, with this
   * `rank`; null if none was read, and then `rank` is the source's.
   */
  nextRank(next: Entry, gone: Entry | null, rank: number): number;
  /** Decides between equal ranks, for an entry that is not the first of its source. */
  tieOf(next: Entry): number;
}

/** An opened source. Its key is the rank of its next entry. */
class Opened extends HeapNode<HeapNode<Source>> {
  /** True once the sources directly below it in the heap are opened too. */
  isExpanded = false;
  readonly #reader: Reader;
  next: Entry | undefined;

  constructor(place: HeapNode<Source>, upTo: number) {
    super(place);
    this.#reader = place.value.reader(upTo);
    this.next = this.#reader.read();
  }

  advance(): void {
    this.next = this.#reader.read();
  }
}

export class Merged implements Reader {
  readonly #sources: Heap<Source>;
  /** Opened sources that have a next entry. */
  readonly #opened: Heap<HeapNode<Source>> = new Heap();
  readonly #upTo: number;

  /** Reads entries of moments up to this sequence. */
  constructor(sources: Heap<Source>, upTo: number) {
    this.#sources = sources;
    this.#upTo = upTo;
    this.#open(sources.first);
  }

  read(): Entry | undefined {
    let one = this.#opened.first as Opened | undefined;
    while (one !== undefined && !one.isExpanded) {
      this.#expand(one);
      one = this.#opened.first as Opened | undefined;
    }
    const gone = one?.next;
    if (one === undefined || gone === undefined) return undefined;
    one.advance();
    const { next, key, value } = one;
    if (next === undefined) this.#opened.remove(one);
    else this.#opened.move(one, value.value.nextRank(next, gone, key), value.value.tieOf(next));
    return gone;
  }

  #open(place: HeapNode<Source> | undefined): void {
    if (place === undefined) return;
    const { value, key, tie, tier } = place;
    const one = new Opened(place, this.#upTo);
    const { next } = one;
    const rank = next === undefined ? Infinity : value.nextRank(next, null, key);
    // If the oldest entry is not read, sources below may come before the opened ones.
    if (rank !== key) this.#expand(one);
    if (next !== undefined) this.#opened.add(one, rank, rank === key ? tie : value.tieOf(next), tier);
  }

  #expand(one: Opened): void {
    one.isExpanded = true;
    for (const place of this.#sources.below(one.value)) this.#open(place);
  }
}
