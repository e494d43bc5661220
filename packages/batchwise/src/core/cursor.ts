// A cursor reads a line in the order in which its entries will be dispatched. Reading changes nothing; `commit` makes
// the order's own state (whose turn it is) agree with what was read, just before the entries are taken out.

import { type Fifo, firstLive } from "./fifo.ts";
import type { Segment } from "./segment.ts";

export interface Cursor {
  /** Where the entry under the cursor lies; null at the end. */
  readonly segment: Segment | null;
  readonly index: number;
  readonly fifo: Fifo;
  advance(): void;
  /** True when the rest of this segment comes next, in one piece, before anything else of the line. */
  readonly runsThroughSegment: boolean;
  /** Jumps behind the segment. Only where it runs through. */
  advanceSegment(): void;
  commit(): void;
}

/** Order of arrival. */
export class FifoCursor implements Cursor {
  readonly fifo: Fifo;
  readonly runsThroughSegment = true;
  segment: Segment | null;
  index: number;

  constructor(fifo: Fifo) {
    this.fifo = fifo;
    this.segment = fifo.first;
    this.index = fifo.first === null ? 0 : fifo.first.head;
  }

  advance(): void {
    const segment = this.segment;
    if (segment === null) return;
    this.index = firstLive(segment, this.index + 1);
    if (this.index === segment.length) this.advanceSegment();
  }

  advanceSegment(): void {
    this.segment = this.segment?.next ?? null;
    this.index = this.segment === null ? 0 : this.segment.head;
  }

  commit(): void {}
}
