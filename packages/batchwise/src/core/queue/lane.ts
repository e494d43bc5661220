// A lane holds the waiting entries of one key, in a line for each priority; small calls have lines
// of their own. A line is in arrival order, or shared by tenants with `fairBy`.

import { Earliest } from "../time/earliest.ts";
import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry, Urgency } from "./entry.ts";
import { type Chunk, EntryList, type EntryOrder, type EntryOwner } from "./entry-list.ts";
import { FairOrder } from "./fair-order.ts";
import type { Marks } from "./flush.ts";
import type { MeasuredEntries } from "./measured-entries.ts";
import { merged, type Source } from "./merged.ts";
import type { Lead } from "./rank.ts";

export class Line implements EntryOwner, Source {
  readonly lane: Lane;
  readonly priority: number;
  readonly isSmall: boolean;
  readonly #lead: Lead;
  /** Empty if tenants share the line. */
  readonly list: EntryList = new EntryList(this);
  readonly #order: EntryOrder;
  /** Its places by rank among the lines of its lane, and by age among those of all lanes. */
  readonly #byRank: HeapNode<Line> = new HeapNode<Line>(this);
  readonly #byAge: HeapNode<Line> = new HeapNode<Line>(this);
  /** The oldest entry, if the last batch did not take it. */
  passedOver: Entry | null = null;

  constructor(lane: Lane, { priority, isSmall }: Urgency, lead: Lead, isFair: boolean) {
    this.lane = lane;
    this.priority = priority;
    this.isSmall = isSmall;
    this.#lead = lead;
    this.#order = isFair ? new FairOrder(this) : this.list;
  }

  get oldest(): Entry | null {
    return this.#order.oldest;
  }

  add(entry: Entry): void {
    this.#order.add(entry);
    if (this.oldest === entry) this.#noteOldest();
  }

  /** Counts so many plain entries, which have been added to its list. */
  count(added: number): void {
    this.lane.size += added;
    this.lane.cost += added;
    this.#noteOldest();
  }

  /** An entry leaves early. */
  left(entry: Entry): void {
    this.lane.left(entry);
    this.remove([entry], 0, 1, false);
    this.lane.noteLeft(1, entry.cost);
  }

  update(entry: Entry, joined: Urgency): void {
    if (entry.isLessUrgentThan(joined)) this.lane.owner.raise(entry, joined);
    this.lane.noteDeadline(entry);
  }

  /** Removes the entries of `[from, end)` for a batch. */
  take(entries: readonly Entry[], from: number, end: number): void {
    const { oldest } = this;
    this.remove(entries, from, end, true);
    this.passedOver = this.oldest === oldest ? oldest : null;
  }

  /** Counts arrivals first: one may become its oldest entry, which has a place in the heaps. */
  remove(entries: readonly Entry[], from: number, end: number, isServed: boolean): void {
    this.lane.owner.countArrivals();
    this.#order.remove(entries, from, end, isServed);
    this.#noteOldest();
  }

  first(most: number, upTo: number): Entry[] {
    return this.#order.first(most, upTo);
  }

  nextRank({ moment }: Entry): number {
    return moment.at - this.#lead.leadMs;
  }

  tieOf({ moment }: Entry): number {
    return moment.at;
  }

  /** Updates its places. Only a line with entries is in a heap. */
  #noteOldest(): void {
    const { lane, oldest } = this;
    if (oldest === null) {
      lane.byRank.remove(this.#byRank);
      lane.owner.byAge.remove(this.#byAge);
    } else {
      const { at } = oldest.moment;
      lane.byRank.put(this.#byRank, this.nextRank(oldest), at, this.#lead.tier);
      lane.owner.byAge.put(this.#byAge, at);
    }
    lane.owner.noteRank(lane);
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
  /** Lines with entries, by the age of their oldest entry. */
  readonly byAge: Heap<Line>;
  /** Called when the entries that left in one step have been counted. */
  noteLeft(lane: Lane, count: number): void;
  /** The lane's earliest deadline has changed. */
  noteDeadline(lane: Lane): void;
  /** The lane's first line may have changed. */
  noteRank(lane: Lane): void;
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
  /** Some may be empty. */
  readonly #lines: Map<number | string, Line> = new Map();
  /** Earliest deadlines of entries. Kept only while lanes may be held. */
  #deadlines: Earliest<Entry> | null = null;
  /** Lines with entries, by the rank of their oldest entry. */
  readonly byRank: Heap<Line> = new Heap();
  /** Its places among the lanes, by rank and earliest deadline. */
  readonly rankNode: HeapNode<Lane> = new HeapNode<Lane>(this);
  readonly deadlineNode: HeapNode<Lane> = new HeapNode<Lane>(this);
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
    return this.#lines.get(lineKey(entry));
  }

  open(line: Line): Line {
    if (this.#lines.size >= 2 * this.byRank.size + KEPT_EMPTY) {
      for (const [key, { oldest }] of this.#lines) if (oldest === null) this.#lines.delete(key);
    }
    this.#lines.set(lineKey(line), line);
    return line;
  }

  /** Submit time of the oldest entry of all lines; Infinity if the lane is empty. */
  oldestAt(): number {
    let oldestAt = Infinity;
    for (const { oldest } of this.#lines.values()) oldestAt = Math.min(oldestAt, oldest?.moment.at ?? Infinity);
    return oldestAt;
  }

  /** The next entries, at most `most`, of moments up to this sequence. Changes nothing. */
  first(most: number, upTo: number): Entry[] {
    const { first, size } = this.byRank;
    return first !== undefined && size === 1 ? first.value.first(most, upTo) : merged(this.byRank, most, upTo);
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

  /** Call when so many entries, of this total cost, have left in one step. */
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
