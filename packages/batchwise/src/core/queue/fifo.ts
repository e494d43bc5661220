// A queue in order of arrival, as a linked list of segments: appending, taking from the front and removing from the
// middle are O(1) at any depth, and a segment whose entries have all left early is unlinked at once.

import type { Sink } from "./recipient.ts";
import { Segment, type SegmentOwner } from "./segment.ts";

/** The longest segment: larger batches are put together from several. */
export const LONGEST_SEGMENT = 4096;

/** How long a segment may grow: cut where batches will be cut, so that most batches leave as whole segments. */
export interface SegmentShape {
  maxItems: number;
  maxCost: number;
  /** Goes up with each flush; a segment never spans two epochs. */
  epoch: number;
}

/** What is still there of `[from, end)` of a segment: `count` entries, which cost so much together. */
export interface Stretch {
  readonly segment: Segment;
  readonly from: number;
  readonly end: number;
  readonly count: number;
  readonly cost: number;
}

/** Whoever keeps the totals above a fifo is told of every entry that leaves it. */
export interface FifoOwner {
  /** `count` entries of `[from, end)` of a segment have left; the others there had left before. */
  removed(segment: Segment, count: number, cost: number, from: number, end: number): void;
}

export class Fifo implements SegmentOwner {
  readonly holdsWaiting = true;
  readonly keepsCosts = true;
  readonly priority: number;
  readonly #owner: FifoOwner;
  readonly #shape: SegmentShape;
  first: Segment | null = null;
  #last: Segment | null = null;
  /** The segment that was opened when nothing waited, and how long the one before it grew: a guess for the next. */
  #opener: Segment | null = null;
  #openerLength = 0;
  /** Entries and their cost in all segments but the last, whose own count is read where it is needed. */
  #closedSize = 0;
  #closedCost = 0;

  constructor(owner: FifoOwner, shape: SegmentShape, priority: number) {
    this.#owner = owner;
    this.#shape = shape;
    this.priority = priority;
  }

  get size(): number {
    return this.#last === null ? 0 : this.#closedSize + this.#last.live;
  }

  get cost(): number {
    return this.#last === null ? 0 : this.#closedCost + this.#last.cost;
  }

  /** Appends an entry and returns the segment whose last one it is. */
  push(item: unknown, sink: Sink, time: number, cost: number): Segment {
    const shape = this.#shape;
    let segment = this.#last;
    if (
      segment === null ||
      segment.length >= shape.maxItems ||
      segment.cost + cost > shape.maxCost ||
      segment.epoch !== shape.epoch
    ) {
      segment = this.#open();
    }
    segment.append(item, sink, time, cost);
    return segment;
  }

  /** When the entry at the front was submitted; Infinity when nothing waits. */
  oldestAt(): number {
    const segment = this.first;
    if (segment === null) return Number.POSITIVE_INFINITY;
    return segment.timeAt(segment.head);
  }

  *segments(): Iterable<Segment> {
    for (let segment = this.first; segment !== null; segment = segment.next) yield segment;
  }

  /** Takes a segment out with all that is left in it. */
  detach(segment: Segment): void {
    const { live, cost } = segment;
    const isLast = segment === this.#last;
    this.#unlink(segment);
    this.#noteGone(isLast, live, cost);
    this.#owner.removed(segment, live, cost, 0, segment.length);
  }

  /** Moves the `count` live entries of `[from, end)` of a segment, which cost so much together, into a batch. */
  take({ segment, from, end, count, cost }: Stretch, into: Segment): void {
    const isLast = segment === this.#last;
    into.appendFrom(segment, from, end);
    segment.noteGone(count, cost);
    if (segment.live === 0) {
      this.#unlink(segment);
    } else {
      segment.forget(from, end);
      if (from <= segment.head) segment.head = firstLive(segment, end);
    }
    this.#noteGone(isLast, count, cost);
    this.#owner.removed(segment, count, cost, from, end);
  }

  vacated(segment: Segment, index: number, cost: number): void {
    const isLast = segment === this.#last;
    segment.items[index] = undefined;
    if (segment.live === 0) this.#unlink(segment);
    else if (index === segment.head) segment.head = firstLive(segment, index);
    this.#noteGone(isLast, 1, cost);
    this.#owner.removed(segment, 1, cost, index, index + 1);
  }

  #noteGone(wasInLast: boolean, count: number, cost: number): void {
    if (wasInLast) return;
    this.#closedSize -= count;
    this.#closedCost = this.#closedSize === 0 ? 0 : this.#closedCost - cost;
  }

  #open(): Segment {
    const { epoch, maxItems } = this.#shape;
    const last = this.#last;
    const guess = last === null ? this.#openerLength : last.length;
    const segment = new Segment(this, this.priority, epoch, Math.min(maxItems, guess));
    this.#last = segment;
    if (last === null) {
      this.first = segment;
      this.#opener = segment;
      return segment;
    }
    segment.previous = last;
    last.next = segment;
    this.#closedSize += last.live;
    this.#closedCost += last.cost;
    return segment;
  }

  /** Makes a segment the last one again. */
  #reopen(segment: Segment | null): void {
    this.#last = segment;
    if (segment === null) return;
    this.#closedSize -= segment.live;
    this.#closedCost = this.#closedSize === 0 ? 0 : this.#closedCost - segment.cost;
  }

  #unlink(segment: Segment): void {
    if (segment === this.#opener) {
      this.#openerLength = segment.length;
      this.#opener = null;
    }
    if (segment.previous === null) this.first = segment.next;
    else segment.previous.next = segment.next;
    if (segment.next === null) this.#reopen(segment.previous);
    else segment.next.previous = segment.previous;
    segment.previous = null;
    segment.next = null;
    segment.press(null);
  }
}

/** The index of the first entry present at or after `from`; the segment's length where there is none. */
export function firstLive(segment: Segment, from: number): number {
  let index = from;
  while (index < segment.length && segment.sinks[index] === null) index += 1;
  return index;
}
