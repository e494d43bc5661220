// A lane holds the waiting entries of one key; a line those of one priority in it. A line is a fifo, or a ring of
// tenants where `fairBy` is in use. Which line goes first is decided entry by entry in pack.ts.

import { type Heaped, LazyHeap } from "../time/heap.ts";
import { type Cursor, FifoCursor } from "./cursor.ts";
import { FairCursor } from "./fair/fair-cursor.ts";
import { FairRing } from "./fair/fair-ring.ts";
import { Fifo, type FifoOwner, type SegmentShape } from "./fifo.ts";
import { ranksBefore } from "./order.ts";
import type { Sink } from "./recipient.ts";
import type { Segment } from "./segment.ts";

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
    (line) => line.order,
  );
  #pushed = 0;

  constructor(priority: number, small: boolean) {
    this.priority = priority;
    this.small = small;
  }

  /** Takes in a line in which something waits again. */
  add(line: Line): void {
    this.#pushed += 1;
    line.order = this.#pushed;
    this.lines.push(line);
  }
}

export class Line implements FifoOwner, Heaped {
  readonly lane: Lane;
  readonly class: PriorityClass;
  /** All that waits here, in order of arrival. */
  readonly fifo: Fifo;
  /** Where tenants take turns, who they are. */
  readonly ring: FairRing | null;
  /** Goes before lines of the same age that came later. */
  order = 0;
  heaped = false;

  constructor(lane: Lane, priorityClass: PriorityClass, shape: SegmentShape, fair: boolean) {
    this.lane = lane;
    this.class = priorityClass;
    this.ring = fair ? new FairRing(this, shape, priorityClass.priority) : null;
    this.fifo = this.ring?.arrivals.fifo ?? new Fifo(this, shape, priorityClass.priority);
  }

  /** Appends an entry and returns the segment whose last one it is. */
  push(tenant: string, item: unknown, sink: Sink, time: number, cost: number): Segment {
    const segment =
      this.ring === null ? this.fifo.push(item, sink, time, cost) : this.ring.push(tenant, item, sink, time, cost);
    if (this.lane.key !== undefined) this.lane.added();
    if (!this.heaped) this.class.add(this);
    return segment;
  }

  get size(): number {
    return this.fifo.size;
  }

  get cost(): number {
    return this.ring === null ? this.fifo.cost : this.ring.cost;
  }

  oldestAt(): number {
    return this.fifo.oldestAt();
  }

  /** Over the entries up to an epoch. */
  cursor(lastEpoch: number): Cursor | undefined {
    return this.ring === null ? new FifoCursor(this.fifo, lastEpoch) : FairCursor.over(this.ring, lastEpoch);
  }

  removed({ epoch }: Segment, count: number): void {
    if (this.size === 0) this.class.lines.noteGone();
    this.lane.removed(epoch, count);
  }
}

/** Whoever keeps the totals above a lane. */
export interface LaneOwner {
  /** An entry has come into a lane that has a key. */
  added(): void;
  removed(lane: Lane, epoch: number, count: number): void;
}

export class Lane {
  readonly key: string | undefined;
  readonly #owner: LaneOwner;
  /** In the order of their classes. */
  readonly lines: Line[] = [];
  /** Entries that a flush covers and that still wait. */
  flushed = 0;
  #pressing: LazyHeap<Pressing> | null = null;

  constructor(key: string | undefined, owner: LaneOwner) {
    this.key = key;
    this.#owner = owner;
  }

  /** The line of a priority, made on first use. */
  line(priorityClass: PriorityClass, shape: SegmentShape, fair: boolean): Line {
    for (const line of this.lines) if (line.class === priorityClass) return line;
    if (this.lines.length >= KEPT_LINES) dropEmpty(this.lines);
    const line = new Line(this, priorityClass, shape, fair);
    const place = this.lines.findIndex((other) => ranksBefore(priorityClass, other.class));
    this.lines.splice(place === -1 ? this.lines.length : place, 0, line);
    return line;
  }

  get size(): number {
    let size = 0;
    for (const line of this.lines) size += line.size;
    return size;
  }

  get cost(): number {
    let cost = 0;
    for (const line of this.lines) cost += line.cost;
    return cost;
  }

  added(): void {
    this.#owner.added();
  }

  removed(epoch: number, count: number): void {
    this.#pressing?.noteGone(count);
    this.#owner.removed(this, epoch, count);
  }

  oldestAt(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const line of this.lines) if (line.size > 0) oldest = Math.min(oldest, line.oldestAt());
    return oldest;
  }

  /** All segments in which entries wait. */
  *segments(): Iterable<Segment> {
    for (const line of this.lines) yield* line.fifo.segments();
  }

  press(entry: Pressing): void {
    this.#pressing ??= new LazyHeap(
      ({ deadlineAt }) => deadlineAt,
      ({ isWaiting }) => !isWaiting,
    );
    this.#pressing.push(entry);
  }

  /** The earliest deadline that the wait of this lane may run into; Infinity where there is none. */
  pressingAt(): number {
    return this.#pressing?.peek()?.deadlineAt ?? Number.POSITIVE_INFINITY;
  }
}

/** Drops the lines without entries, except that of priority 0, which the queue may hold on to. */
function dropEmpty(lines: Line[]): void {
  let kept = 0;
  for (const line of lines) {
    const isPlain = line.class.priority === 0 && !line.class.small;
    if (isPlain || line.size > 0) lines[kept++] = line;
  }
  lines.length = kept;
}
