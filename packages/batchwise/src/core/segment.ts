// A segment is a run of waiting entries held as parallel arrays: the items, who gets each answer, and since when each
// waits. Arrays of a batch's length are the cheapest thing V8 can keep a million of, and a segment that leaves the
// queue whole *is* the batch: its `items` array goes to the handler without a copy.
//
// An entry that leaves early (cancelled, expired) leaves a hole: its sink is null and its item is forgotten. Columns
// that most users never need (cost, context, priority) exist only from the first entry that needs them.

import type { ItemOutcome } from "./stats.ts";

/** Every way to end but with a result. */
export type FailedOutcome = Exclude<ItemOutcome, "completed">;

/** Settles a caller's promise. */
export type Resolve = (value: unknown) => void;

/** Somebody who gets an answer and is more than a bare promise: a place in a submitMany, a caller who may leave. */
export interface Party {
  /** True when the party counts its own callers and latencies; otherwise its batch counts it as one caller. */
  readonly countsItself: boolean;
  succeed(value: unknown, now: number): void;
  fail(error: unknown, outcome: FailedOutcome, now: number): void;
  /** Tells the party where its entry is now, so that it can vacate it. */
  seat(segment: Segment, index: number): void;
}

/** Who gets the answer of an entry: a promise's resolve function (the fast path) or a {@link Party}. */
export type Sink = Resolve | Party;

/** Whoever holds a segment is told when one of its entries leaves early. */
export interface SegmentOwner {
  /** True while the entries wait, false once a batch has them. */
  readonly holdsWaiting: boolean;
  vacated(segment: Segment, index: number, cost: number): void;
}

export class Segment {
  items: unknown[] = [];
  readonly sinks: (Sink | null)[] = [];
  /** When each entry was submitted. */
  readonly times: number[] = [];
  costs: number[] | null = null;
  contexts: unknown[] | null = null;
  priorities: number[] | null = null;
  readonly priority: number;
  /** Which flush covers these entries: see Queue.flush. */
  readonly epoch: number;
  owner: SegmentOwner;
  /** The first entry that has not been taken; it is always a live one while any is. */
  head = 0;
  /** Entries present. */
  live = 0;
  /** Their cost. */
  cost = 0;
  /** False from the first hole on: then `cost` carries the rounding of a subtraction. */
  intact = true;
  previous: Segment | null = null;
  next: Segment | null = null;

  constructor(owner: SegmentOwner, priority: number, epoch: number) {
    this.owner = owner;
    this.priority = priority;
    this.epoch = epoch;
  }

  get length(): number {
    return this.sinks.length;
  }

  append(item: unknown, sink: Sink, time: number, cost: number, context: unknown): void {
    const index = this.items.push(item) - 1;
    this.sinks.push(sink);
    this.times.push(time);
    if (cost !== 1 || this.costs !== null) this.#addCost(index, cost);
    if (context !== undefined || this.contexts !== null) this.#addContext(index, context);
    this.live += 1;
    this.cost += cost;
    if (typeof sink !== "function") sink.seat(this, index);
  }

  /** Moves the live entries of `[from, to)` of another segment to the end of this one. */
  appendFrom(source: Segment, from: number, to: number): void {
    for (let index = from; index < to; index += 1) {
      const sink = source.sinks[index] as Sink | null;
      if (sink === null) continue;
      const priority = source.priorityAt(index);
      if (priority !== this.priority || this.priorities !== null) this.#addPriority(this.sinks.length, priority);
      this.append(
        source.items[index],
        sink,
        source.times[index] as number,
        source.costAt(index),
        source.contextAt(index),
      );
    }
  }

  costAt(index: number): number {
    return this.costs === null ? 1 : (this.costs[index] as number);
  }

  contextAt(index: number): unknown {
    return this.contexts === null ? undefined : this.contexts[index];
  }

  priorityAt(index: number): number {
    return this.priorities === null ? this.priority : (this.priorities[index] as number);
  }

  /** Takes one entry out; whoever holds the segment decides what becomes of its item. */
  vacate(index: number): void {
    const cost = this.costAt(index);
    this.sinks[index] = null;
    this.live -= 1;
    this.cost -= cost;
    this.intact = false;
    this.owner.vacated(this, index, cost);
  }

  #addCost(index: number, cost: number): void {
    this.costs ??= new Array<number>(index).fill(1);
    this.costs.push(cost);
  }

  #addContext(index: number, context: unknown): void {
    this.contexts ??= new Array<unknown>(index).fill(undefined);
    this.contexts.push(context);
  }

  #addPriority(index: number, priority: number): void {
    this.priorities ??= new Array<number>(index).fill(this.priority);
    this.priorities.push(priority);
  }
}
