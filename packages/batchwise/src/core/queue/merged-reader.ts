// Reads the entries of several lines in rank order. The lines are in a heap by the ranks of their
// oldest entries and are opened only when needed, so thousands of lines cost as much as those of
// one batch.

import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry } from "./entry.ts";
import type { EntryReader } from "./fifo.ts";

/** A source of entries in dispatch order, among other lines. */
export interface RankedLine {
  /** Reads the entries up to this moment's sequence. */
  reader(lastSequence: number): EntryReader;
  /**
   * The rank of the next entry; the smallest goes first. `gone`: the entry before it, with this
   * `rank`; null if none was read, and then `rank` is the line's. `next` may be null after it.
   */
  rankOf(next: Entry | null, gone: Entry | null, rank: number): number;
  /** Decides between equal ranks, for an entry that is not the first of its line. */
  tieOf(next: Entry | null): number;
  /** The entries that were read are taken. Called with the rank and the tie of the next one. */
  taken(rank: number, tie: number): void;
}

/** An opened line with its place among all lines. Its key is the rank of its next entry. */
class OpenLine<Line extends RankedLine> extends HeapNode<HeapNode<Line>> {
  readonly reader: EntryReader;
  /** True once the lines directly below it in the heap are opened too. */
  isExpanded = false;
  hasMoved = false;

  constructor(place: HeapNode<Line>, reader: EntryReader) {
    super(place);
    this.reader = reader;
  }

  get line(): Line {
    return this.value.value;
  }
}

export class MergedReader<Line extends RankedLine> implements EntryReader {
  readonly #lines: Heap<Line>;
  readonly #lastSequence: number;
  readonly #opened: OpenLine<Line>[] = [];
  /** Opened lines by the ranks of their next entries. The first one is expanded. */
  readonly #next: Heap<HeapNode<Line>> = new Heap();

  constructor(lines: Heap<Line>, lastSequence: number) {
    this.#lines = lines;
    this.#lastSequence = lastSequence;
    this.#open(lines.first);
    this.#expandFirst();
  }

  get #first(): OpenLine<Line> | undefined {
    return this.#next.first as OpenLine<Line> | undefined;
  }

  get entry(): Entry | null {
    return this.#first?.reader.entry ?? null;
  }

  ahead(most: number): Entry[] {
    // While several lines are open, another one may come after each entry.
    return (this.#first as OpenLine<Line>).reader.ahead(this.#next.size > 1 ? 1 : most);
  }

  advance(count: number): void {
    const first = this.#first;
    if (first === undefined) return;
    const { reader, line } = first;
    let rank = first.key;
    for (let left = count; left > 0; left -= 1) {
      const gone = reader.entry;
      reader.advance(1);
      rank = line.rankOf(reader.entry, gone, rank);
    }
    first.hasMoved = true;
    this.#next.move(first, rank, line.tieOf(reader.entry));
    if (reader.entry === null) this.#next.remove(first);
    this.#expandFirst();
  }

  commit(): void {
    for (const { reader, line, key, tie, hasMoved } of this.#opened) {
      reader.commit();
      if (hasMoved) line.taken(key, tie);
    }
  }

  #open(place: HeapNode<Line> | undefined): void {
    if (place === undefined) return;
    const line = place.value;
    const open = new OpenLine(place, line.reader(this.#lastSequence));
    this.#opened.push(open);
    const { entry } = open.reader;
    const rank = entry === null ? Infinity : line.rankOf(entry, null, place.key);
    // If the oldest entry is not read, lines below may come before the opened ones.
    if (rank !== place.key) this.#expand(open);
    if (entry !== null) this.#next.add(open, rank, rank === place.key ? place.tie : line.tieOf(entry), place.tier);
  }

  #expandFirst(): void {
    if (this.#first?.isExpanded === false) this.#expand(this.#first);
  }

  #expand(open: OpenLine<Line>): void {
    open.isExpanded = true;
    for (const place of this.#lines.below(open.value)) this.#open(place);
  }
}
