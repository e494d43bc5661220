// Reads the entries of several sources, which stand in a heap by the keys of their first entries, in one order. Sources are
// opened when their turn may have come, so thousands of them cost as much as those that a batch is made of.

import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry } from "./entry.ts";
import type { EntryReader } from "./fifo.ts";

/** Entries in an order of their own, among other sources. */
export interface EntrySource {
  /** Over the entries of the moments up to the one of this sequence. */
  reader(lastSequence: number): EntryReader;
  /** The key of an entry of the source. `passedKey`: the key of the entry before it, null where none was read. */
  keyOf(next: Entry, passedKey: number | null): number;
  /** Decides between equal keys: the smallest goes first. `next`: null at the end of the source. */
  tieOf(next: Entry | null, passedKey: number | null): number;
  /** Called before the entries that were read are taken: the key of the last one, and the tie of the one behind it. */
  commit(passedKey: number, tie: number): void;
}

/** A source that has been opened. */
interface Contender<Source> {
  readonly reader: EntryReader;
  /** Its place among all sources. */
  readonly place: HeapNode<Source>;
  /** The key of the last entry that was read, null where none was, and the tie of the one behind it. */
  passedKey: number | null;
  tie: number;
  /** True once the sources right below it in the heap have been opened, too. */
  isExpanded: boolean;
}

export class MergedReader<Source extends EntrySource> implements EntryReader {
  readonly #sources: Heap<Source>;
  readonly #lastSequence: number;
  readonly #opened: Contender<Source>[] = [];
  /** The opened sources by the keys of their next entries. Those of the first one have been expanded. */
  readonly #next: Heap<Contender<Source>> = new Heap();
  /** How many entries of one source are looked at together while others may go between them. */
  #stride = 1;

  constructor(sources: Heap<Source>, lastSequence: number) {
    this.#sources = sources;
    this.#lastSequence = lastSequence;
    this.#open(sources.first);
    this.#expandFirst();
  }

  get entry(): Entry | null {
    return this.#next.first?.value.reader.entry ?? null;
  }

  ahead(most: number): Entry[] {
    const first = this.#next.first as HeapNode<Contender<Source>>;
    const rival = this.#next.second;
    if (rival === undefined) return first.value.reader.ahead(most);
    const entries = first.value.reader.ahead(Math.min(most, this.#stride));
    const { value: source } = first.value.place;
    let count = 1;
    for (let { key } = first; count < entries.length; count += 1) {
      const entry = entries[count] as Entry;
      const nextKey = source.keyOf(entry, key);
      if (first.tier === rival.tier && nextKey >= rival.key) break;
      key = nextKey;
    }
    this.#stride = count === entries.length ? 2 * this.#stride : 1;
    entries.length = count;
    return entries;
  }

  advance(count: number): void {
    const { first } = this.#next;
    if (first === undefined) return;
    const { reader, place } = first.value;
    for (let left = count; left > 0 && reader.entry !== null; left -= 1) {
      const { key } = first;
      reader.advance(1);
      const { entry } = reader;
      first.value.passedKey = key;
      first.value.tie = place.value.tieOf(entry, key);
      if (entry === null) this.#next.remove(first);
      else this.#next.move(first, place.value.keyOf(entry, key), first.value.tie);
    }
    this.#expandFirst();
  }

  commit(): void {
    for (const { reader, place, passedKey, tie } of this.#opened) {
      reader.commit();
      if (passedKey !== null) place.value.commit(passedKey, tie);
    }
  }

  #open(place: HeapNode<Source> | undefined): void {
    if (place === undefined) return;
    const reader = place.value.reader(this.#lastSequence);
    const contender = { reader, place, passedKey: null, tie: 0, isExpanded: false };
    this.#opened.push(contender);
    const { entry } = reader;
    const key = entry === null ? Infinity : place.value.keyOf(entry, null);
    // Where the first entry is not read, what lies below may come before those that are.
    if (entry === null || key !== place.key) this.#expand(contender);
    if (entry === null) return;
    this.#next.add(new HeapNode<Contender<Source>>(contender), key, place.value.tieOf(entry, null), place.tier);
  }

  #expandFirst(): void {
    const contender = this.#next.first?.value;
    if (contender !== undefined) this.#expand(contender);
  }

  #expand(contender: Contender<Source>): void {
    if (contender.isExpanded) return;
    contender.isExpanded = true;
    for (const place of this.#sources.below(contender.place)) this.#open(place);
  }
}
