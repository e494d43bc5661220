// The entries of a lane in the order in which they go, in parts: line after line in the order of ranks, or, where
// waiting has raised somebody's priority, one part in which the first entry of all lines comes first.

import type { Entry } from "../queue/entry.ts";
import type { EntryReader } from "../queue/fifo.ts";
import type { Line } from "../queue/lane.ts";
import type { MeasuredEntries } from "../queue/measured-entries.ts";
import { effectivePriority, goesBefore } from "../queue/order.ts";

/** What waits, line by line in the order of ranks. Some lines may be empty. */
export interface WaitingLines {
  readonly lines: readonly Line[];
  readonly size: number;
  /** What a cost function has said of the entries that go first. */
  measured: MeasuredEntries | null;
  oldestAt(): number;
}

/** Entries that go one after the other. */
export interface EntrySource {
  readonly isEmpty: boolean;
  /** Over the entries of the moments up to the one of this sequence. */
  reader(lastSequence: number): EntryReader;
}

/** All that waits in a lane: each part goes before the next one. */
export function inOrder(waiting: WaitingLines, now: number, priorityAgingMs: number): readonly EntrySource[] {
  const { lines } = waiting;
  const aging = { now, longestMs: now - waiting.oldestAt(), priorityAgingMs };
  if (lines.length === 1 || aging.longestMs < priorityAgingMs) return lines;
  return [{ isEmpty: false, reader: (lastSequence) => new AgedReader(lines, aging, lastSequence) }];
}

interface Contender {
  readonly line: Line;
  readonly reader: EntryReader;
  readonly entry: Entry;
}

interface Aging {
  readonly now: number;
  /** How long the oldest entry of all lines has waited. */
  readonly longestMs: number;
  readonly priorityAgingMs: number;
}

/**
 * Entry by entry, the first of all lines. The lines stand in a binary heap: the one that goes first on top. They are
 * opened in the order of ranks, and only while the next one may hold an entry that goes before the top: thousands of
 * lines cost as much as those that a batch is made of.
 */
class AgedReader implements EntryReader {
  readonly #lines: readonly Line[];
  /** The first line that is not open. */
  #next = 0;
  readonly #aging: Aging;
  readonly #lastSequence: number;
  readonly #readers: EntryReader[] = [];
  readonly #heap: Contender[] = [];

  constructor(lines: readonly Line[], aging: Aging, lastSequence: number) {
    this.#lines = lines;
    this.#aging = aging;
    this.#lastSequence = lastSequence;
    this.#open();
  }

  get entry(): Entry | null {
    return this.#heap[0]?.entry ?? null;
  }

  ahead(): Entry[] {
    return [this.entry as Entry];
  }

  advance(): void {
    const top = this.#heap[0];
    if (top === undefined) return;
    const { line, reader } = top;
    reader.advance(1);
    if (reader.entry !== null) {
      this.#heap[0] = { line, reader, entry: reader.entry };
    } else {
      const last = this.#heap.pop() as Contender;
      if (this.#heap.length > 0) this.#heap[0] = last;
    }
    this.#sink(0);
    this.#open();
  }

  commit(): void {
    for (const reader of this.#readers) reader.commit();
  }

  #open(): void {
    const { now, longestMs, priorityAgingMs } = this.#aging;
    for (; this.#next < this.#lines.length; this.#next += 1) {
      const line = this.#lines[this.#next] as Line;
      const top = this.#heap[0];
      if (top !== undefined) {
        const urgency = effectivePriority(top.line.priority, now - top.entry.moment.at, priorityAgingMs);
        if (effectivePriority(line.priority, longestMs, priorityAgingMs) < urgency) return;
      }
      if (line.isEmpty) continue;
      const reader = line.reader(this.#lastSequence);
      this.#readers.push(reader);
      if (reader.entry !== null) this.#rise(this.#heap.push({ line, reader, entry: reader.entry }) - 1);
    }
  }

  #rise(start: number): void {
    const heap = this.#heap;
    let index = start;
    for (let parent = (index - 1) >> 1; index > 0 && this.#goesBefore(index, parent); parent = (index - 1) >> 1) {
      [heap[index], heap[parent]] = [heap[parent] as Contender, heap[index] as Contender];
      index = parent;
    }
  }

  #sink(start: number): void {
    const heap = this.#heap;
    let index = start;
    for (let child = 2 * index + 1; child < heap.length; child = 2 * index + 1) {
      if (child + 1 < heap.length && this.#goesBefore(child + 1, child)) child += 1;
      if (!this.#goesBefore(child, index)) return;
      [heap[index], heap[child]] = [heap[child] as Contender, heap[index] as Contender];
      index = child;
    }
  }

  #goesBefore(a: number, b: number): boolean {
    const first = this.#heap[a] as Contender;
    const second = this.#heap[b] as Contender;
    const { at } = first.entry.moment;
    const { now, priorityAgingMs } = this.#aging;
    return goesBefore(first.line, at, second.line, second.entry.moment.at, now, priorityAgingMs);
  }
}
