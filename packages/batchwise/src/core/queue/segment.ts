// A segment is a run of waiting entries held as parallel arrays: the items, and who gets each answer. Arrays of a
// batch's length are the cheapest thing V8 can keep a million of, and a segment that leaves the queue whole *is* the
// batch: its `items` array goes to the handler without a copy.
//
// An entry that leaves early (cancelled, expired) leaves a hole: its sink is null and its item is forgotten. What most
// users never need (costs, priorities, what is in extras.ts) exists only from the first entry that needs it.

import { CostColumn } from "./cost-column.ts";
import { Extras } from "./extras.ts";
import type { Party, Seating, Sink } from "./recipient.ts";
import { StepColumn } from "./step-column.ts";

/** Whoever holds a segment is told when one of its entries leaves early. */
export interface SegmentOwner {
  /** True while the entries wait, false once a batch has them. */
  readonly holdsWaiting: boolean;
  /** True where somebody may still ask what an entry costs. */
  readonly keepsCosts: boolean;
  vacated(segment: Segment, index: number, cost: number): void;
}

/** Whoever watches the deadlines of a segment, until `end`. */
export interface SegmentWatch extends Ending {
  readonly dueAt: number;
}

/** Whoever holds on to a segment until told that it is over. */
export interface Ending {
  end(): void;
}

export class Segment implements Seating {
  readonly items: unknown[];
  readonly sinks: (Sink | null)[];
  /** When each entry was submitted: one step a turn. */
  readonly moments: StepColumn = new StepColumn();
  costs: CostColumn | null = null;
  #extras: Extras | null = null;
  /** True from the first entry on that has to know where it lies. */
  #hasParties = false;
  /** Of entries put together from several lines; null where all have that of the segment. */
  #priorities: StepColumn | null = null;
  watch: SegmentWatch | null = null;
  #pressing: Ending | null = null;
  readonly priority: number;
  /** Which flush covers these entries: see Queue.flush. */
  readonly epoch: number;
  owner: SegmentOwner;
  /** Entries appended so far, present or not. */
  length = 0;
  /** The first entry that has not been taken; it is always a live one while any is. */
  head = 0;
  /** Entries that have been taken or have left. */
  #gone = 0;
  previous: Segment | null = null;
  next: Segment | null = null;
  /** Its number in its line, where there is more about its entries elsewhere: see arrivals.ts. */
  number = 0;

  /** `capacity`: how many entries are expected; room for them is made at once. */
  constructor(owner: SegmentOwner, priority: number, epoch: number, capacity: number) {
    this.owner = owner;
    this.priority = priority;
    this.epoch = epoch;
    this.items = new Array<unknown>(capacity);
    this.sinks = new Array<Sink | null>(capacity);
  }

  /** Entries present. */
  get live(): number {
    return this.length - this.#gone;
  }

  /** The cost of the entries present. */
  get cost(): number {
    return this.costs === null ? this.length - this.#gone : this.costs.sum;
  }

  /** True while `cost` is exact, whatever was added and taken away. */
  get isExact(): boolean {
    return this.costs === null || this.costs.isExact;
  }

  get holdsWaiting(): boolean {
    return this.owner.holdsWaiting;
  }

  /** True while every entry appended is still here. */
  get intact(): boolean {
    return this.#gone === 0;
  }

  append(item: unknown, sink: Sink, time: number, cost: number): void {
    const index = this.length;
    this.length = index + 1;
    this.items[index] = item;
    this.sinks[index] = sink;
    this.moments.add(index, time);
    if (cost !== 1 || this.costs !== null) (this.costs ?? this.#openCosts(index)).add(index, cost);
    if (typeof sink === "function") return;
    this.#hasParties = true;
    sink.seat(this, index);
  }

  /** Appends an entry that was submitted in the same turn as the one before it and is no party that needs a seat. */
  appendAlike(item: unknown, sink: Sink, position: number, cost: number): void {
    const index = this.length;
    this.length = index + 1;
    this.items[index] = item;
    this.sinks[index] = sink;
    if (position > 0) this.setPosition(index, position);
    if (cost !== 1 || this.costs !== null) (this.costs ?? this.#openCosts(index)).add(index, cost);
  }

  /** Appends `items[from]` to `items[to - 1]` in the same way, for one party, which knows each by its index there. */
  appendAllAlike(items: readonly unknown[], from: number, to: number, party: Party): void {
    const { items: own, sinks } = this;
    this.#open().setPositions(this.length, from, to, own.length);
    let at = this.length;
    for (let position = from; position < to; position += 1) {
      own[at] = items[position];
      sinks[at] = party;
      at += 1;
    }
    this.length = at;
  }

  /** Copies the live entries of `[from, to)` of another segment to the end of this one. */
  appendFrom(source: Segment, from: number, to: number): void {
    for (let start = from; start < to; ) {
      const end = Math.min(to, source.#endOfAlike(start));
      this.#appendAlikeFrom(source, start, end);
      start = end;
    }
  }

  /** Copies entries of one turn and one priority. */
  #appendAlikeFrom(source: Segment, from: number, to: number): void {
    const at = this.length;
    this.#copyEntries(source, from, to);
    if (this.length === at) return;
    this.moments.add(at, source.timeAt(from));
    const priority = source.priorityAt(from);
    if (priority !== this.priority || this.#priorities !== null) this.#addPriority(at, priority);
    if (this.owner.keepsCosts && (source.costs !== null || this.costs !== null)) this.#copyCosts(source, from, to, at);
    if (source.#extras !== null) this.#copyExtras(source, source.#extras, from, to, at);
  }

  #copyEntries(source: Segment, from: number, to: number): void {
    const { items, sinks } = this;
    const { items: sourceItems, sinks: sourceSinks } = source;
    const first = this.length;
    let at = first;
    for (let index = from; index < to; index += 1) {
      const sink = sourceSinks[index] as Sink | null;
      if (sink === null) continue;
      items[at] = sourceItems[index];
      sinks[at] = sink;
      at += 1;
    }
    this.length = at;
    if (source.#hasParties) this.#seatFrom(first);
  }

  #seatFrom(first: number): void {
    this.#hasParties = true;
    for (let index = first; index < this.length; index += 1) {
      const sink = this.sinks[index] as Sink;
      if (typeof sink !== "function") sink.seat(this, index);
    }
  }

  #copyCosts(source: Segment, from: number, to: number, first: number): void {
    const costs = this.costs ?? this.#openCosts(first);
    let at = first;
    for (let index = from; index < to; index += 1) {
      if (source.sinks[index] === null) continue;
      costs.add(at, source.costAt(index));
      at += 1;
    }
  }

  #copyExtras(source: Segment, extras: Extras, from: number, to: number, first: number): void {
    const own = this.#open();
    let at = first;
    for (let index = from; index < to; index += 1) {
      if (source.sinks[index] === null) continue;
      own.copy(extras, index, at);
      at += 1;
    }
  }

  /** True when a batch of so many entries can begin with it: closing ranks moves items and sinks, but no other column. */
  mayLead(owner: SegmentOwner, count: number): boolean {
    if (this.items.length < count) return false;
    if (this.intact) return true;
    const hasColumns = this.#extras !== null || this.moments.steps > 1 || (owner.keepsCosts && this.costs !== null);
    return !hasColumns && !this.#hasParties;
  }

  /** Makes it what a batch begins with: its entries close ranks. Costs that the batch does not keep are lost. */
  lead(owner: SegmentOwner): void {
    this.owner = owner;
    if (!owner.keepsCosts) this.costs = null;
    if (this.intact) return;
    const { head, length } = this;
    this.length = 0;
    this.#copyEntries(this, head, length);
    this.head = 0;
    this.#gone = 0;
  }

  /** Cuts the room that was made and not needed. */
  trim(): void {
    if (this.items.length === this.length) return;
    this.items.length = this.length;
    this.sinks.length = this.length;
  }

  timeAt(index: number): number {
    return this.moments.at(index);
  }

  /** The end of the run of entries from `index` on that were submitted in the same turn. */
  endOfTurn(index: number): number {
    return this.moments.endOfStep(index, this.length);
  }

  #endOfAlike(index: number): number {
    const end = this.endOfTurn(index);
    return this.#priorities === null ? end : Math.min(end, this.#priorities.endOfStep(index, this.length));
  }

  costAt(index: number): number {
    return this.costs === null ? 1 : (this.costs.values[index] as number);
  }

  contextAt(index: number): unknown {
    return this.#extras?.contextAt(index);
  }

  priorityAt(index: number): number {
    return this.#priorities === null ? this.priority : this.#priorities.at(index);
  }

  positionAt(index: number): number {
    return this.#extras === null ? 0 : this.#extras.positionAt(index);
  }

  dueAt(index: number): number {
    return this.#extras === null ? Number.POSITIVE_INFINITY : this.#extras.dueAt(index);
  }

  setContext(index: number, context: unknown): void {
    this.#open().setContext(index, context);
  }

  setPosition(index: number, position: number): void {
    this.#open().setPosition(index, position);
  }

  timeoutAt(index: number): number {
    return this.#extras === null ? Number.POSITIVE_INFINITY : this.#extras.timeoutAt(index);
  }

  /** Gives an entry a deadline, so long after its submit; true when it is the earliest of the segment now. */
  setDue(index: number, dueAt: number, timeoutMs: number): boolean {
    return this.#open().setDue(index, dueAt, timeoutMs);
  }

  /** The earliest deadline in it, or earlier where that entry has gone; Infinity where there is none. */
  get earliestDue(): number {
    return this.#extras === null ? Number.POSITIVE_INFINITY : this.#extras.earliestDue;
  }

  /** Finds the earliest deadline of the entries present anew. */
  measureDue(): void {
    if (this.#extras === null) return;
    let earliest = Number.POSITIVE_INFINITY;
    for (let index = this.head; index < this.length; index += 1) {
      if (this.sinks[index] !== null) earliest = Math.min(earliest, this.#extras.dueAt(index));
    }
    this.#extras.earliestDue = earliest;
  }

  /** Takes one entry out, if it is still there; whoever holds the segment decides what becomes of its item. */
  vacate(index: number): void {
    if (this.sinks[index] === null) return;
    const cost = this.costAt(index);
    this.sinks[index] = null;
    this.noteGone(1, cost);
    this.owner.vacated(this, index, cost);
  }

  /** Puts down who presses its lane to go in time for its earliest deadline; who did so before is over. */
  press(pressing: Ending | null): void {
    this.#pressing?.end();
    this.#pressing = pressing;
  }

  /** Lets go of entries that have been taken, where others stay. */
  forget(from: number, to: number): void {
    const { items, sinks } = this;
    for (let index = from; index < to; index += 1) {
      items[index] = undefined;
      sinks[index] = null;
    }
  }

  /** Counts entries out that have been taken, settled or have left. */
  noteGone(count: number, cost: number): void {
    this.#gone += count;
    if (this.costs !== null) this.costs.sum -= cost;
    if (this.watch !== null && this.length === this.#gone) this.watch.end();
  }

  /** Starts the cost column; the `length` entries so far cost 1 each. */
  #openCosts(length: number): CostColumn {
    this.costs = new CostColumn(length, length - this.#gone, this.items.length);
    return this.costs;
  }

  #open(): Extras {
    this.#extras ??= new Extras();
    return this.#extras;
  }

  #addPriority(from: number, priority: number): void {
    if (this.#priorities === null) {
      this.#priorities = new StepColumn();
      this.#priorities.add(0, this.priority);
    }
    this.#priorities.add(from, priority);
  }
}
