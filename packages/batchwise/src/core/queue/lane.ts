// A lane holds the waiting entries of one key, in a line for each priority; small calls have lines
// of their own. A line is in arrival order, or shared by tenants with `fairBy`.

import { Earliest } from "../time/earliest.ts";
import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry, EntryHolder } from "./entry.ts";
import { FairOrder } from "./fair-order.ts";
import { type EntryOrder, type EntryReader, Fifo } from "./fifo.ts";
import type { MeasuredEntries } from "./measured-entries.ts";
import { MergedReader, type RankedLine } from "./merged-reader.ts";
import type { Rank } from "./rank.ts";

export class Line implements EntryHolder, RankedLine {
  readonly isWaiting = true;
  readonly lane: Lane;
  readonly priority: number;
  readonly isSmall: boolean;
  readonly #rank: Rank;
  readonly #order: EntryOrder;
  /** Its places by rank among the lines of its lane, and by age among those of all lanes. */
  readonly #byRank: HeapNode<Line> = new HeapNode<Line>(this);
  readonly #byAge: HeapNode<Line> = new HeapNode<Line>(this);
  #cost = 0;
  /** With `order: "length"`: the oldest entry, if the last batch did not take it. */
  passedOver: Entry | null = null;

  constructor(lane: Lane, { priority, isSmall }: Pick<Entry, "priority" | "isSmall">, rank: Rank, isFair: boolean) {
    this.lane = lane;
    this.priority = priority;
    this.isSmall = isSmall;
    this.#rank = rank;
    this.#order = isFair ? new FairOrder(this) : new Fifo(this);
  }

  get size(): number {
    return this.#order.size;
  }

  get cost(): number {
    return this.#cost;
  }

  /**
   * True for entries of its key and rank. False if it is empty, because it may have been dropped.
   */
  isFor({ priority, facts }: Entry): boolean {
    // `===` between booleans is slow.
    const isSmall = facts.isSmall ? this.isSmall : !this.isSmall;
    return priority === this.priority && isSmall && facts.key === this.lane.key && this.size > 0;
  }

  push(entry: Entry): void {
    entry.holder = this;
    this.#cost += entry.cost;
    if (this.#order.push(entry)) this.#noteOldest(entry);
    this.lane.added(entry);
  }

  /**
   * Adds the first `count` of these entries, which are plain and have this line as their holder.
   */
  pushAll(entries: Entry[], count: number): void {
    this.#order.pushAll(entries, count);
    this.#cost += count;
    this.lane.size += count;
    this.#noteOldest(this.oldest);
  }

  get oldest(): Entry | null {
    return this.#order.oldest;
  }

  /** Submit time of its oldest entry; Infinity if it is empty. */
  oldestAt(): number {
    return this.oldest?.moment.at ?? Infinity;
  }

  reader(lastSequence: number): EntryReader {
    return this.#order.reader(lastSequence);
  }

  rankOf(next: Entry | null, _gone: Entry | null, rank: number): number {
    return next === null ? rank : next.moment.at - this.#rank.leadMs;
  }

  tieOf(next: Entry | null): number {
    return next === null ? 0 : next.moment.at;
  }

  /** Its place follows from the entries that leave. */
  taken(): void {}

  left(entry: Entry): void {
    entry.holder = null;
    this.lane.left(entry);
    this.noteLeft([entry], 0, 1, entry.cost);
  }

  /** Charges an entry that is taken out of order. Call before removing it. */
  charge(entry: Entry): void {
    this.#order.charge(entry);
  }

  raise(entry: Entry, priority: number): void {
    if (priority > entry.priority) this.lane.owner.raise(entry, priority);
  }

  noteDeadline(entry: Entry): void {
    this.lane.noteDeadline(entry);
  }

  /** Called after the entries of `[from, end)`, of this total cost, have changed their holder. */
  noteLeft(entries: readonly Entry[], from: number, end: number, cost: number): void {
    this.#order.left(entries, from, end);
    this.#cost = this.size === 0 ? 0 : this.#cost - cost;
    this.#noteOldest(this.oldest);
    this.lane.noteLeft(end - from);
  }

  /** Updates its places. Only a line with entries is in a heap. */
  #noteOldest(oldest: Entry | null): void {
    const { lane } = this;
    if (oldest === null) {
      lane.byRank.remove(this.#byRank);
      lane.owner.byAge.remove(this.#byAge);
    } else {
      const { at } = oldest.moment;
      lane.byRank.put(this.#byRank, this.rankOf(oldest, null, 0), at, this.#rank.tier);
      lane.owner.byAge.put(this.#byAge, at);
    }
    lane.owner.noteRank(lane);
  }
}

/** Empty lines are kept for reuse up to this many, and as many as there are others. */
const KEPT_EMPTY = 8;

/** Keeps totals over all lanes. */
export interface LaneOwner {
  /** Lines with entries, by the age of their oldest entry. */
  readonly byAge: Heap<Line>;
  /** An entry of the lane leaves, for a batch or early. */
  left(lane: Lane, entry: Entry): void;
  /** Called when the entries that left in one step have been counted. */
  noteLeft(lane: Lane, count: number): void;
  /** The lane's earliest deadline has changed. */
  noteDeadline(lane: Lane): void;
  /** The lane's first line may have changed. */
  noteRank(lane: Lane): void;
  /** Moves a waiting entry to the line of a higher priority. */
  raise(entry: Entry, priority: number): void;
}

/** A line's key in its lane: the priority, as text for small calls. */
function lineKey({ priority, isSmall }: Pick<Entry, "priority" | "isSmall">): number | string {
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
  /** Results of the cost function for the first entries. Null after one of them has left. */
  measured: MeasuredEntries | null = null;
  /** The flush: the last covered moment's sequence, and how many covered entries still wait. */
  flushedUpTo = -1;
  flushed = 0;

  constructor(key: string | undefined, owner: LaneOwner) {
    this.key = key;
    this.owner = owner;
  }

  /** The line for an entry, if it exists. */
  line(entry: Pick<Entry, "priority" | "isSmall">): Line | undefined {
    return this.#lines.get(lineKey(entry));
  }

  open(line: Line): Line {
    if (this.#lines.size >= 2 * this.byRank.size + KEPT_EMPTY) {
      for (const [key, { size }] of this.#lines) if (size === 0) this.#lines.delete(key);
    }
    this.#lines.set(lineKey(line), line);
    return line;
  }

  lines(): Iterable<Line> {
    return this.#lines.values();
  }

  get cost(): number {
    let cost = 0;
    for (const line of this.lines()) cost += line.cost;
    return cost;
  }

  /** Submit time of the oldest entry of all lines; Infinity if the lane is empty. */
  oldestAt(): number {
    let oldestAt = Infinity;
    for (const line of this.lines()) oldestAt = Math.min(oldestAt, line.oldestAt());
    return oldestAt;
  }

  /** Reads the entries up to this moment's sequence, in dispatch order. */
  reader(lastSequence: number): EntryReader {
    const { first, size } = this.byRank;
    return first !== undefined && size === 1
      ? first.value.reader(lastSequence)
      : new MergedReader(this.byRank, lastSequence);
  }

  added(entry: Entry): void {
    this.size += 1;
    if (this.#deadlines !== null) this.noteDeadline(entry);
  }

  left(entry: Entry): void {
    if (this.#deadlines?.remove(entry)) this.owner.noteDeadline(this);
    this.owner.left(this, entry);
  }

  noteLeft(count: number): void {
    this.size -= count;
    this.measured = null;
    this.owner.noteLeft(this, count);
  }

  /** Starts or stops to keep the earliest deadlines. */
  keepDeadlines(isKept: boolean): void {
    this.#deadlines = isKept ? new Earliest() : null;
    this.owner.noteDeadline(this);
    if (!isKept) return;
    for (const line of this.lines()) {
      const reader = line.reader(Infinity);
      for (; reader.entry !== null; reader.advance(1)) this.noteDeadline(reader.entry);
    }
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
