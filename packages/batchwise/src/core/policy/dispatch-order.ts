// The entries of a lane in the order in which they go, in parts: line after line in the order of ranks, or, where
// waiting has raised somebody's priority, one part in which the first entry of all lines comes first.

import type { Entry } from "../queue/entry.ts";
import type { EntryReader } from "../queue/fifo.ts";
import type { Line } from "../queue/lane.ts";
import { goesBefore } from "../queue/order.ts";

/** What waits, line by line in the order of ranks. Some lines may be empty. */
export interface WaitingLines {
  readonly lines: readonly Line[];
  readonly size: number;
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
  if (lines.length === 1 || now - waiting.oldestAt() < priorityAgingMs) return lines;
  return [{ isEmpty: false, reader: (lastSequence) => new AgedReader(lines, now, priorityAgingMs, lastSequence) }];
}

interface Contender {
  readonly line: Line;
  readonly reader: EntryReader;
  readonly entry: Entry;
}

/** Entry by entry, the first of all lines. The lines stand in a binary heap: the one that goes first on top. */
class AgedReader implements EntryReader {
  readonly #now: number;
  readonly #priorityAgingMs: number;
  readonly #readers: EntryReader[] = [];
  readonly #heap: Contender[] = [];

  constructor(lines: readonly Line[], now: number, priorityAgingMs: number, lastSequence: number) {
    this.#now = now;
    this.#priorityAgingMs = priorityAgingMs;
    for (const line of lines) {
      if (line.isEmpty) continue;
      const reader = line.reader(lastSequence);
      this.#readers.push(reader);
      if (reader.entry !== null) this.#heap.push({ line, reader, entry: reader.entry });
    }
    for (let index = (this.#heap.length >> 1) - 1; index >= 0; index -= 1) this.#sink(index);
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
      if (this.#heap.length === 0) return;
      this.#heap[0] = last;
    }
    this.#sink(0);
  }

  commit(): void {
    for (const reader of this.#readers) reader.commit();
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
    return goesBefore(first.line, at, second.line, second.entry.moment.at, this.#now, this.#priorityAgingMs);
  }
}
