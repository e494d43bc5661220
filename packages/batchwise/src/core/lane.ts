// A lane holds the waiting entries of one key; a line those of one priority in it. A line is a fifo, or a ring of
// tenants where `fairBy` is in use. Which line goes first is decided entry by entry in pack.ts.

import { type Cursor, FifoCursor } from "./cursor.ts";
import { FairCursor, FairRing } from "./fair.ts";
import { Fifo, type FifoOwner, type SegmentShape } from "./fifo.ts";
import { type Heaped, LazyHeap } from "./lazy-heap.ts";
import type { Segment, Sink } from "./segment.ts";

/** An entry whose deadline falls inside the wait: its lane must not be held past it. */
export interface Pressing extends Heaped {
  readonly deadlineAt: number;
  readonly isWaiting: boolean;
}

/** Empty lines are kept for reuse up to this many; beyond, priorities are taken to be one-off values. */
const KEPT_LINES = 8;

/** The lines of one priority in all lanes, the one with the oldest entry on top. */
export class PriorityClass {
  readonly priority: number;
  /** Of small calls (`smallCallFirst`): they go before the larger calls of the same priority. */
  readonly small: boolean;
  readonly lines: LazyHeap<Line> = new LazyHeap(
    (line) => line.oldestAt(),
    (line) => line.size === 0,
  );

  constructor(priority: number, small: boolean) {
    this.priority = priority;
    this.small = small;
  }
}

export class Line implements FifoOwner, Heaped {
  readonly lane: Lane;
  readonly class: PriorityClass;
  readonly #fifo: Fifo | null;
  readonly #fair: FairRing | null;
  heaped = false;
  size = 0;

  constructor(lane: Lane, priorityClass: PriorityClass, shape: SegmentShape, fair: boolean) {
    this.lane = lane;
    this.class = priorityClass;
    this.#fifo = fair ? null : new Fifo(this, shape, priorityClass.priority);
    this.#fair = fair ? new FairRing(this, shape, priorityClass.priority) : null;
  }

  push(tenant: string, item: unknown, sink: Sink, time: number, cost: number, context: unknown): void {
    this.size += 1;
    this.lane.added(cost);
    if (this.#fifo !== null) this.#fifo.push(item, sink, time, cost, context);
    else this.#fair?.push(tenant, item, sink, time, cost, context);
    if (!this.heaped) this.class.lines.push(this);
  }

  oldestAt(): number {
    return (this.#fifo ?? this.#fair)?.oldestAt() ?? Number.POSITIVE_INFINITY;
  }

  /** The segment at whose head the entry lies that has waited longest. */
  oldestSegment(): Segment | null {
    return this.#fifo === null ? (this.#fair?.oldestSegment() ?? null) : this.#fifo.first;
  }

  cursor(): Cursor | undefined {
    if (this.#fifo !== null) return new FifoCursor(this.#fifo);
    return this.#fair === null ? undefined : FairCursor.over(this.#fair);
  }

  removed(epoch: number, count: number, cost: number): void {
    this.size -= count;
    if (this.size === 0) this.class.lines.noteGone();
    this.lane.removed(epoch, count, cost);
  }
}

/** Whoever keeps the totals above a lane. */
export interface LaneOwner {
  added(): void;
  removed(lane: Lane, epoch: number, count: number): void;
}

export class Lane {
  readonly key: string | undefined;
  readonly #owner: LaneOwner;
  readonly lines: Line[] = [];
  size = 0;
  cost = 0;
  /** Entries that a flush covers and that still wait. */
  flushed = 0;
  readonly #pressing: LazyHeap<Pressing> = new LazyHeap(
    (entry) => entry.deadlineAt,
    (entry) => !entry.isWaiting,
  );

  constructor(key: string | undefined, owner: LaneOwner) {
    this.key = key;
    this.#owner = owner;
  }

  /** The line of a priority, made on first use. */
  line(priorityClass: PriorityClass, shape: SegmentShape, fair: boolean): Line {
    for (const line of this.lines) if (line.class === priorityClass) return line;
    if (this.lines.length >= KEPT_LINES) dropEmpty(this.lines);
    const line = new Line(this, priorityClass, shape, fair);
    this.lines.push(line);
    return line;
  }

  added(cost: number): void {
    this.size += 1;
    this.cost += cost;
    this.#owner.added();
  }

  removed(epoch: number, count: number, cost: number): void {
    this.size -= count;
    this.cost = this.size === 0 ? 0 : this.cost - cost;
    this.#owner.removed(this, epoch, count);
  }

  oldestAt(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const line of this.lines) if (line.size > 0) oldest = Math.min(oldest, line.oldestAt());
    return oldest;
  }

  press(entry: Pressing): void {
    this.#pressing.push(entry);
  }

  /** The earliest deadline that the wait of this lane may run into; Infinity where there is none. */
  pressingAt(): number {
    return this.#pressing.peek()?.deadlineAt ?? Number.POSITIVE_INFINITY;
  }
}

/** Drops the lines without entries, except the first, which the queue may hold on to. */
function dropEmpty(lines: Line[]): void {
  let kept = 1;
  for (const line of lines.slice(1)) if (line.size > 0) lines[kept++] = line;
  lines.length = kept;
}

/** One stretch of a segment that a batch takes: from the segment's head up to `end`. */
export interface Stretch {
  readonly fifo: Fifo;
  readonly segment: Segment;
  readonly end: number;
}
