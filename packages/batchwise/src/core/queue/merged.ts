// Yields the entries of several sources in the order of their ranks. The sources are in a heap by
// the ranks of their oldest entries and are opened only when needed, so thousands of sources cost
// as much as those of one batch.

import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry } from "./entry.ts";
import type { EntryOrder } from "./entry-list.ts";

/** A source of entries in order, among others: a line of a lane, or a tenant of a line. */
export interface Source extends Pick<EntryOrder, "each"> {
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
  readonly entries: Iterator<Entry>;
  next: Entry | undefined;
  /** True once the sources directly below it in the heap are opened too. */
  isExpanded = false;

  constructor(place: HeapNode<Source>, upTo: number) {
    super(place);
    this.entries = place.value.each(upTo);
    this.next = this.entries.next().value;
  }
}

export function* merged(sources: Heap<Source>, upTo: number): Generator<Entry, undefined> {
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
  for (let one = opened.first as Opened | undefined; one !== undefined; one = opened.first as Opened | undefined) {
    const { next: gone, key, value } = one;
    if (!one.isExpanded) {
      expand(one);
      continue;
    }
    yield gone as Entry;
    one.next = one.entries.next().value;
    if (one.next === undefined) opened.remove(one);
    else opened.move(one, value.value.nextRank(one.next, gone as Entry, key), value.value.tieOf(one.next));
  }
}

/** The first of these entries, at most `most`. */
export function firstOf(entries: Iterator<Entry>, most: number): Entry[] {
  const first: Entry[] = [];
  while (first.length < most) {
    const { value, done } = entries.next();
    if (done) break;
    first.push(value);
  }
  return first;
}
