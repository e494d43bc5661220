// All that waits: lanes by key, and over them the lines of each priority by age, so that the most urgent lane and the
// oldest entry are found without looking at every lane. A lane that empties is forgotten.

import type { Pick, PickedStretch } from "../policy/packer.ts";
import { LONGEST_SEGMENT, type SegmentShape } from "./fifo.ts";
import { Flush } from "./flush.ts";
import { Lane, type LaneOwner, type Line, PriorityClass } from "./lane.ts";
import { goesBefore } from "./order.ts";
import type { Addressee, Sink } from "./recipient.ts";
import { Segment, type SegmentOwner } from "./segment.ts";

/** Empty priority classes are kept up to this many. */
const KEPT_CLASSES = 8;
function takeHead(segment: Segment): Addressee {
  const { head } = segment;
  const taken = { sink: segment.sinks[head] as Sink, position: segment.positionAt(head), time: segment.timeAt(head) };
  segment.vacate(head);
  return taken;
}

/** Finds the earliest deadlines of the segments anew that a batch has left entries in. */
function measureDues(stretches: readonly PickedStretch[], batch: Segment): void {
  if (stretches.every(({ segment }) => segment.earliestDue === Number.POSITIVE_INFINITY)) return;
  for (const segment of new Set(stretches.map((stretch) => stretch.segment))) {
    if (segment !== batch && segment.live > 0) segment.measureDue();
  }
}

const NO_FLUSHES: readonly Flush[] = [];

export class Queue implements LaneOwner {
  readonly #shape: SegmentShape = { maxItems: 1, maxCost: Number.POSITIVE_INFINITY, epoch: 0 };
  readonly #fair: boolean;
  readonly #common: Lane = new Lane(undefined, this);
  readonly #keyed: Map<string, Lane> = new Map();
  readonly #classes: PriorityClass[] = [];
  #flushes: Flush[] = [];
  /** Lanes that may be ready for another reason than age; whoever looks at them takes out those that are not. */
  readonly hot: Set<Lane> = new Set();
  /** Where an entry without a key or a priority goes; it stays, also while nothing waits in it. */
  readonly plain: Line;
  #keyedSize = 0;
  /** Goes up whenever an entry has left, for a batch or early. */
  departures = 0;

  constructor(fair: boolean) {
    this.#fair = fair;
    this.plain = this.line(undefined, 0, false);
  }

  /** Cuts segments where batches will be cut. */
  reshape(maxBatchSize: number, maxBatchCost: number): void {
    this.#shape.maxItems = Math.min(maxBatchSize, LONGEST_SEGMENT);
    this.#shape.maxCost = maxBatchCost;
  }

  /** The line that entries of a key and priority are pushed to. */
  line(key: string | undefined, priority: number, small: boolean): Line {
    return this.#lane(key).line(this.#class(priority, small), this.#shape, this.#fair);
  }

  get size(): number {
    return this.#common.size + this.#keyedSize;
  }

  added(): void {
    this.#keyedSize += 1;
  }

  removed(lane: Lane, epoch: number, count: number): void {
    this.departures += 1;
    if (lane.key !== undefined) this.#keyedSize -= count;
    if (lane.flushed > 0 && epoch < this.#shape.epoch) lane.flushed -= count;
    if (lane.size === 0) this.#forget(lane);
    else if (lane.pressingAt() !== Number.POSITIVE_INFINITY) this.hot.add(lane);
    if (this.#flushes.length > 0) this.#flushed(epoch, count);
  }

  /** The lane whose first entry goes before those of all other lanes. */
  mostUrgent(now: number, priorityAgingMs: number): Lane | undefined {
    if (this.#keyed.size === 0) return this.#common.size > 0 ? this.#common : undefined;
    let best: Line | undefined;
    for (const { lines } of this.#classes) {
      const line = lines.peek();
      if (line === undefined) continue;
      if (best === undefined || goesBefore(line, line.oldestAt(), best, best.oldestAt(), now, priorityAgingMs))
        best = line;
    }
    return best?.lane;
  }

  /** The lane with the entry that has waited longest. */
  oldest(): Lane | undefined {
    if (this.#keyed.size === 0) return this.#common.size > 0 ? this.#common : undefined;
    return this.#oldestLine()?.lane;
  }

  oldestAt(): number {
    return this.oldest()?.oldestAt() ?? Number.POSITIVE_INFINITY;
  }

  /** Takes a packed batch out of its lane. Where it begins with the rest of a segment, that segment is the batch. */
  take({ stretches, cursors, count }: Pick, owner: SegmentOwner): Segment {
    for (const cursor of cursors) cursor.commit();
    const first = stretches[0] as PickedStretch;
    const leads = first.count === first.segment.live && first.segment.mayLead(owner, count);
    const batch = leads ? first.segment : new Segment(owner, first.fifo.priority, 0, count);
    if (leads) {
      first.fifo.detach(batch);
      batch.lead(owner);
    }
    for (let index = leads ? 1 : 0; index < stretches.length; index += 1) {
      const stretch = stretches[index] as PickedStretch;
      stretch.fifo.take(stretch, batch);
    }
    if (leads) batch.trim();
    measureDues(stretches, batch);
    return batch;
  }

  /** The epoch of the last flush: what it covers is of this epoch or an earlier one. */
  get flushedEpoch(): number {
    return this.#shape.epoch - 1;
  }

  /** Marks all that waits now as flushed; undefined when nothing waits. */
  flush(done: () => void): Flush | undefined {
    if (this.size === 0) return undefined;
    const flush = new Flush(this.#shape.epoch, this.size, done);
    this.#shape.epoch += 1;
    this.#flushes.push(flush);
    for (const lane of this.lanes()) {
      lane.flushed = lane.size;
      this.hot.add(lane);
    }
    return flush;
  }

  /** Takes out the entry that has waited longest and returns who is to be told. */
  dropOldest(): Addressee | null {
    const segment = this.#oldestLine()?.fifo.first ?? null;
    if (segment === null) return null;
    const isEarliest = segment.dueAt(segment.head) === segment.earliestDue;
    const dropped = takeHead(segment);
    if (isEarliest) segment.measureDue();
    return dropped;
  }

  /** Takes out all that waits, the oldest first, and returns who is to be told. */
  clear(): Addressee[] {
    const all: Addressee[] = [];
    for (let line = this.#oldestLine(); line !== undefined; line = this.#oldestLine()) {
      all.push(takeHead(line.fifo.first as Segment));
    }
    return all;
  }

  get isFlushing(): boolean {
    return this.#flushes.length > 0;
  }

  /** The flushes that wait for some entry of this batch. */
  flushesOf(pick: Pick): readonly Flush[] {
    if (this.#flushes.length === 0) return NO_FLUSHES;
    return this.#flushes.filter((flush) => pick.stretches.some(({ segment }) => flush.covers(segment.epoch)));
  }

  /** Tells the flushes of a batch that it has ended. */
  batchEnded(flushes: readonly Flush[]): void {
    if (flushes.length === 0) return;
    for (const flush of flushes) flush.batchEnded();
    this.#dropDoneFlushes();
  }

  /** All lanes in which something waits. */
  *lanes(): Iterable<Lane> {
    if (this.#common.size > 0) yield this.#common;
    yield* this.#keyed.values();
  }

  #lane(key: string | undefined): Lane {
    if (key === undefined) return this.#common;
    let lane = this.#keyed.get(key);
    if (lane === undefined) {
      lane = new Lane(key, this);
      this.#keyed.set(key, lane);
    }
    return lane;
  }

  #class(priority: number, small: boolean): PriorityClass {
    for (const known of this.#classes) if (known.priority === priority && known.small === small) return known;
    if (this.#classes.length >= KEPT_CLASSES) this.#dropEmptyClasses();
    const added = new PriorityClass(priority, small);
    this.#classes.push(added);
    return added;
  }

  #dropEmptyClasses(): void {
    let kept = 1;
    for (const known of this.#classes.slice(1)) if (known.lines.peek() !== undefined) this.#classes[kept++] = known;
    this.#classes.length = kept;
  }

  #oldestLine(): Line | undefined {
    let oldest: Line | undefined;
    for (const { lines } of this.#classes) {
      const line = lines.peek();
      if (line !== undefined && (oldest === undefined || line.oldestAt() < oldest.oldestAt())) oldest = line;
    }
    return oldest;
  }

  #forget(lane: Lane): void {
    this.hot.delete(lane);
    if (lane.key !== undefined) this.#keyed.delete(lane.key);
  }

  #dropDoneFlushes(): void {
    this.#flushes = this.#flushes.filter((flush) => !flush.check());
  }

  #flushed(epoch: number, count: number): void {
    for (const flush of this.#flushes) if (flush.covers(epoch)) flush.waiting -= count;
    this.#dropDoneFlushes();
  }
}
