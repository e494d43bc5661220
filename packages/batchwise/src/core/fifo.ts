// A queue in order of arrival, as a linked list of segments: appending, taking from the front and removing from the
// middle are O(1) at any depth, and a segment whose entries have all left early is unlinked at once.

import { Segment, type SegmentOwner, type Sink } from "./segment.ts";

/** How long a segment may grow: cut where batches will be cut, so that most batches leave as whole segments. */
export interface SegmentShape {
  maxItems: number;
  maxCost: number;
  /** Goes up with each flush; a segment never spans two epochs. */
  epoch: number;
}

/** Whoever keeps the totals above a fifo is told of every entry that leaves it. */
export interface FifoOwner {
  removed(epoch: number, count: number, cost: number): void;
}

export class Fifo implements SegmentOwner {
  readonly holdsWaiting = true;
  readonly priority: number;
  readonly #owner: FifoOwner;
  readonly #shape: SegmentShape;
  first: Segment | null = null;
  #last: Segment | null = null;
  size = 0;

  constructor(owner: FifoOwner, shape: SegmentShape, priority: number) {
    this.#owner = owner;
    this.#shape = shape;
    this.priority = priority;
  }

  push(item: unknown, sink: Sink, time: number, cost: number, context: unknown): void {
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
    segment.append(item, sink, time, cost, context);
    this.size += 1;
  }

  /** When the entry at the front was submitted; Infinity when nothing waits. */
  oldestAt(): number {
    const segment = this.first;
    if (segment === null) return Number.POSITIVE_INFINITY;
    return segment.times[segment.head] as number;
  }

  /** Takes the front segment out whole. */
  detach(segment: Segment): void {
    this.#unlink(segment);
    this.#left(segment.epoch, segment.live, segment.cost);
  }

  /** Moves the live entries before `end` of a segment into a batch. */
  take(segment: Segment, end: number, into: Segment): void {
    const start = segment.head;
    const liveBefore = into.live;
    const costBefore = into.cost;
    into.appendFrom(segment, start, end);
    const count = into.live - liveBefore;
    const cost = into.cost - costBefore;
    segment.live -= count;
    segment.cost -= cost;
    segment.intact = false;
    if (segment.live === 0) {
      this.#unlink(segment);
    } else {
      for (let index = start; index < end; index += 1) forget(segment, index);
      segment.head = firstLive(segment, end);
    }
    this.#left(segment.epoch, count, cost);
  }

  vacated(segment: Segment, index: number, cost: number): void {
    segment.items[index] = undefined;
    if (segment.live === 0) this.#unlink(segment);
    else if (index === segment.head) segment.head = firstLive(segment, index);
    this.#left(segment.epoch, 1, cost);
  }

  #left(epoch: number, count: number, cost: number): void {
    this.size -= count;
    this.#owner.removed(epoch, count, cost);
  }

  #open(): Segment {
    const segment = new Segment(this, this.priority, this.#shape.epoch);
    segment.previous = this.#last;
    if (this.#last === null) this.first = segment;
    else this.#last.next = segment;
    this.#last = segment;
    return segment;
  }

  #unlink(segment: Segment): void {
    if (segment.previous === null) this.first = segment.next;
    else segment.previous.next = segment.next;
    if (segment.next === null) this.#last = segment.previous;
    else segment.next.previous = segment.previous;
    segment.previous = null;
    segment.next = null;
  }
}

/** The index of the first entry present at or after `from`; the segment's length where there is none. */
export function firstLive(segment: Segment, from: number): number {
  let index = from;
  while (index < segment.length && segment.sinks[index] === null) index += 1;
  return index;
}

function forget(segment: Segment, index: number): void {
  segment.items[index] = undefined;
  segment.sinks[index] = null;
}
