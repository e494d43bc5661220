// A lane holds the waiting entries of one key, in a line for each priority; small calls have lines
// of their own. A line is in arrival order, or shared by tenants with `fairBy`.

import { Earliest } from "../time/earliest.ts";
import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry, Urgency } from "./entry.ts";
import { type Chunk, EntryList, type EntryOwner, type Reader } from "./entry-list.ts";
import { FairOrder } from "./fair-order.ts";
import type { Marks } from "./flush.ts";
import type { MeasuredEntries } from "./measured-entries.ts";
import { Merged, type Source } from "./merged.ts";
import type { Lead } from "./rank.ts";

export class Line extends EntryList implements EntryOwner, Source {
  readonly lane: Lane;
  readonly priority: number;
  readonly isSmall: boolean;
  readonly #lead: Lead;
  /** Tenants have the entries, if they share the line. */
  readonly #tenants: FairOrder | null;
  /** Its places by rank and by age among the lines of all lanes. */
  readonly place: HeapNode<Line> = new HeapNode<Line>(this);
  readonly #byAge: HeapNode<Line> = new HeapNode<Line>(this);
  /** Its place by rank in its lane. Made when the lane has a second line. */
  #inLane: HeapNode<Line> | null = null;
  /** The oldest entry, if the last batch did not take it. */
  passedOver: Entry | null = null;

  constructor(lane: Lane, { priority, isSmall }: Urgency, lead: Lead, isFair: boolean) {
    super();
    this.lane = lane;
    this.priority = priority;
    this.isSmall = isSmall;
    this.#lead = lead;
    this.#tenants = isFair ? new FairOrder(this) : null;
  }

  get line(): this {
    return this;
  }

  override get oldest(): Entry | null {
    return this.#tenants === null ? super.oldest : this.#tenants.oldest;
  }

  override add(entry: Entry): boolean {
    const isOldest = this.#tenants === null ? super.add(entry) : this.#tenants.add(entry);
    if (isOldest) this.noteOldest();
    return isOldest;
  }

  /** Counts `added` plain entries that are already in its list. */
  count(added: number): void {
    this.lane.size += added;
    this.lane.cost += added;
    this.noteOldest();
  }

  /** An entry leaves early. */
  left(entry: Entry): void {
    this.lane.left(entry);
    this.remove([entry], 0, 1);
    this.lane.noteLeft(1, entry.cost);
  }

  update(entry: Entry, joined: Urgency): void {
    if (entry.isLessUrgentThan(joined)) this.lane.owner.raise(entry, joined);
    this.lane.noteDeadline(entry);
  }

  /** Removes entries that it has not counted, for a batch. */
  takeArrivals(entries: readonly Entry[]): void {
    super.remove(entries, 0, entries.length);
  }

  /** Removes the entries of `[from, end)` for a batch. */
  take(entries: readonly Entry[], from: number, end: number): void {
    const { oldest } = this;
    this.remove(entries, from, end, true);
    this.passedOver = this.oldest === oldest ? oldest : null;
  }

  /** Counts arrivals first: one may become its oldest entry, which has a place in the heaps. */
  override remove(entries: readonly Entry[], from: number, end: number, isServed: boolean = false): void {
    this.lane.owner.countArrivals();
    if (this.#tenants === null) super.remove(entries, from, end);
    else this.#tenants.remove(entries, from, end, isServed);
    this.noteOldest();
  }

  override reader(upTo: number): Reader {
    return this.#tenants === null ? super.reader(upTo) : this.#tenants.reader(upTo);
  }

  nextRank({ moment }: Entry): number {
    return moment.at - this.#lead.leadMs;
  }

  tieOf({ moment }: Entry): number {
    return moment.at;
  }

  /** Updates its places. Only a line with entries is in a heap. */
  noteOldest(): void {
    const { oldest } = this;
    const { owner, byRank } = this.lane;
    if (byRank !== null) this.#inLane ??= new HeapNode<Line>(this);
    this.#put(owner.byRank, this.place, oldest);
    if (byRank !== null) this.#put(byRank, this.#inLane as HeapNode<Line>, oldest);
    if (oldest === null) owner.byAge.remove(this.#byAge);
    else owner.byAge.put(this.#byAge, oldest.moment.at);
  }

  #put(heap: Heap<Line>, place: HeapNode<Line>, oldest: Entry | null): void {
    if (oldest === null) heap.remove(place);
    else heap.put(place, this.nextRank(oldest), oldest.moment.at, this.#lead.tier);
  }
}

/** The line in which an entry waits. */
export function lineOf({ holder }: Entry): Line {
  return (holder as Chunk).list.line as Line;
}

/** Empty lines are kept for reuse up to this many, and as many as there are others. */
const KEPT_EMPTY = 8;

/** Keeps totals over all lanes. */
export interface LaneOwner {
  /** Lines with entries, by the rank and by the age of their oldest entry. */
  readonly byRank: Heap<Line>;
  readonly byAge: Heap<Line>;
  /** Called when the entries that left in one step have been counted. */
  noteLeft(lane: Lane, count: number): void;
  /** The lane's earliest deadline has changed. */
  noteDeadline(lane: Lane): void;
  /** Has plain entries that have arrived counted by their line. */
  countArrivals(): void;
  /** Moves a waiting entry to the line of a higher priority. */
  raise(entry: Entry, joined: Urgency): void;
}

/** A line's key in its lane: the priority, as text for small calls. */
function lineKey({ priority, isSmall }: Urgency): number | string {
  return isSmall ? `${priority}` : priority;
}

export class Lane {
  readonly key: string | undefined;
  readonly owner: LaneOwner;
  /** The line that came first. May be empty, like others. */
  #first: Line | null = null;
  /** All lines, and those with entries by the rank of their oldest. Made for a second line. */
  #lines: Map<number | string, Line> | null = null;
  byRank: Heap<Line> | null = null;
  /** Earliest deadlines of entries. Kept only while lanes may be held. */
  #deadlines: Earliest<Entry> | null = null;
  /** Its place among the lanes by earliest deadline. Made with the first one. */
  deadlineNode: HeapNode<Lane> | null = null;
  size = 0;
  /** Sum of its entries' costs. */
  cost = 0;
  /** Results of the cost function for the first entries. Null after one of them has left. */
  measured: MeasuredEntries | null = null;
  /** Made with its first flush. */
  flushes: Marks | null = null;

  constructor(key: string | undefined, owner: LaneOwner) {
    this.key = key;
    this.owner = owner;
  }

  /** The line for an entry, if it exists. */
  line(entry: Urgency): Line | undefined {
    const first = this.#first;
    if (first !== null && first.priority === entry.priority && first.isSmall === entry.isSmall) return first;
    return this.#lines?.get(lineKey(entry));
  }

  open(line: Line): Line {
    const first = this.#first;
    if (first === null) {
      this.#first = line;
      return line;
    }
    this.#lines ??= new Map([[lineKey(first), first]]);
    if (this.byRank === null) {
      this.byRank = new Heap();
      first.noteOldest();
    }
    if (this.#lines.size >= 2 * this.byRank.size + KEPT_EMPTY) {
      for (const [key, other] of this.#lines) {
        if (other.oldest === null && other !== first) this.#lines.delete(key);
      }
    }
    this.#lines.set(lineKey(line), line);
    return line;
  }

  /** How many lines have entries, if any has. */
  get lineCount(): number {
    return this.byRank?.size ?? 1;
  }

  /** The place of its first line in the heap of all lanes' lines, by rank. Requires an entry. */
  get place(): HeapNode<Line> {
    return (this.byRank?.first?.value ?? (this.#first as Line)).place;
  }

  /** Submit time of the oldest entry of all lines; Infinity if the lane is empty. */
  oldestAt(): number {
    let oldestAt = this.#first?.oldest?.moment.at ?? Infinity;
    for (const { oldest } of this.#lines?.values() ?? []) {
      oldestAt = Math.min(oldestAt, oldest?.moment.at ?? Infinity);
    }
    return oldestAt;
  }

  /** The next entries, at most `most`, of moments up to this sequence. Changes nothing. */
  first(most: number, upTo: number): Entry[] {
    const reader = this.byRank === null ? this.#first?.reader(upTo) : new Merged(this.byRank, upTo);
    const first: Entry[] = [];
    while (first.length < most) {
      const next = reader?.read();
      if (next === undefined) break;
      first.push(next);
    }
    return first;
  }

  added({ cost }: Entry): void {
    this.size += 1;
    this.cost += cost;
  }

  /** Call for each entry that leaves, for a batch or early. */
  left(entry: Entry): void {
    this.flushes?.left(entry);
    if (this.#deadlines?.remove(entry)) this.owner.noteDeadline(this);
  }

  /** Call after `count` entries with a total cost of `cost` have left in one step. */
  noteLeft(count: number, cost: number): void {
    this.size -= count;
    this.cost = this.size === 0 ? 0 : this.cost - cost;
    this.measured = null;
    this.owner.noteLeft(this, count);
  }

  /** Starts or stops to keep the earliest deadlines. */
  keepDeadlines(isKept: boolean): void {
    this.#deadlines = isKept ? new Earliest() : null;
    this.owner.noteDeadline(this);
    if (!isKept) return;
    for (const entry of this.first(Infinity, Infinity)) this.noteDeadline(entry);
  }

  /** Call when a waiting entry's earliest deadline may have changed. */
  noteDeadline(entry: Entry): void {
    if (this.#deadlines === null || typeof entry.recipient !== "object" || entry.recipient === null) return;
    this.#deadlines.set(entry, entry.recipient.dueAt);
    this.owner.noteDeadline(this);
  }

  /**
   * The earliest deadline of a waiting entry; Infinity if there is none or deadlines are not kept.
   */
  get earliestDueAt(): number {
    return this.#deadlines?.dueAt ?? Infinity;
  }
}
