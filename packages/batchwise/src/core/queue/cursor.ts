// A cursor reads a line in the order in which its entries will be dispatched, up to an epoch. Reading changes nothing;
// `commit` makes the order's own state (whose turn it is) agree with what was read, just before the entries are taken
// out.

import { type Fifo, firstLive } from "./fifo.ts";
import type { Segment } from "./segment.ts";

export interface Cursor {
  /** Where the entry under the cursor lies; null at the end. */
  readonly segment: Segment | null;
  readonly index: number;
  readonly fifo: Fifo;
  /** The end of the entries of this segment that come next in one piece, before anything else of the line. */
  readonly runEnd: number;
  /** Moves to the first entry at or behind `index` of this segment, or to what comes next; at most to `runEnd`. */
  advanceTo(index: number): void;
  commit(): void;
}

/** Order of arrival, up to an epoch. */
export class FifoCursor implements Cursor {
  readonly fifo: Fifo;
  readonly #lastEpoch: number;
  segment: Segment | null = null;
  index = 0;

  constructor(fifo: Fifo, lastEpoch: number = Number.POSITIVE_INFINITY) {
    this.fifo = fifo;
    this.#lastEpoch = lastEpoch;
    this.#open(fifo.first);
  }

  get runEnd(): number {
    return this.segment === null ? 0 : this.segment.length;
  }

  advanceTo(index: number): void {
    const segment = this.segment;
    if (segment === null) return;
    this.index = firstLive(segment, index);
    if (this.index === segment.length) this.#open(segment.next);
  }

  commit(): void {}

  #open(segment: Segment | null): void {
    this.segment = segment !== null && segment.epoch <= this.#lastEpoch ? segment : null;
    this.index = this.segment === null ? 0 : this.segment.head;
  }
}
