// A lane holds the waiting entries of one key, in a line for each priority; small calls have lines
// of their own. A line is in order of arrival, or shared by tenants where `fairBy` is in use.

import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry, EntryHolder } from "./entry.ts";
import { EntryDeadlines } from "./entry-deadlines.ts";
import { FairOrder } from "./fair/fair-order.ts";
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
  /** Its places among the lines of its lane. */
  readonly #byRank: HeapNode<Line> = new HeapNode<Line>(this);
  readonly #byAge: HeapNode<Line> = new HeapNode<Line>(this);
  #cost = 0;
  /** With `order: "length"`: the oldest entry, where the last batch went without it. */
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

  /** True for entries of its key and rank. False where nothing waits: it may have been dropped. */
  isFor({ priority, facts }: Entry): boolean {
    // Comparing booleans by `===` is slow.
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
   * Adds the first `count` of these entries, which are plain and know that this line holds them.
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

  /** When its oldest entry was submitted; Infinity when nothing waits. */
  oldestAt(): number {
    return this.oldest?.moment.at ?? Infinity;
  }

  reader(lastSequence: number): EntryReader {
    return this.#order.reader(lastSequence);
  }

  rankOf({ moment }: Entry): number {
    return moment.at - this.#rank.leadMs;
  }

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
    if (priority > entry.priority) this.lane.raise(entry, priority);
  }

  noteDeadline(entry: Entry): void {
    this.lane.noteDeadline(entry);
  }

  /**
   * Called after the entries of `[from, end)`, which cost so much together, have got another
   * holder.
   */
  noteLeft(entries: readonly Entry[], from: number, end: number, cost: number): void {
    this.#order.left(entries, from, end);
    this.#cost = this.size === 0 ? 0 : this.#cost - cost;
    this.#noteOldest(this.oldest);
    this.lane.noteLeft(end - from);
  }

  /** Keeps its places. Only a line in which something waits is in a heap. */
  #noteOldest(oldest: Entry | null): void {
    const { lane } = this;
    if (oldest === null) {
      lane.byRank.remove(this.#byRank);
      lane.byAge.remove(this.#byAge);
    } else {
      const { at } = oldest.moment;
      lane.byRank.put(this.#byRank, this.rankOf(oldest), at, this.#rank.tier);
      lane.byAge.put(this.#byAge, at);
    }
    lane.noteOldest();
  }
}

/** Lines in which nothing waits are kept for reuse up to this many, and as many as the others. */
const KEPT_EMPTY = 8;

/** Keeps the totals above a lane. */
export interface LaneOwner {
  /** An entry of the lane leaves, for a batch or early. */
  left(lane: Lane, entry: Entry): void;
  /** Called when what left in one step has been counted. */
  noteLeft(lane: Lane, count: number): void;
  /** The earliest deadline of the lane has changed. */
  noteDeadline(lane: Lane): void;
  /** The first or the oldest entry of the lane may be another one now. */
  noteOldest(lane: Lane): void;
  /** Moves a waiting entry to the line of a higher priority. */
  raise(entry: Entry, priority: number): void;
}

const NO_LINES: Map<number, Line> = new Map();

export class Lane {
  readonly key: string | undefined;
  readonly #owner: LaneOwner;
  /** By priority. Nothing may wait in some of them. */
  #lines: Map<number, Line> = new Map();
  #smallLines: Map<number, Line> = NO_LINES;
  /** The earliest deadlines of entries that have any. Kept only while lanes may be held. */
  #deadlines: EntryDeadlines | null = null;
  /** The lines in which something waits, by the ranks and ages of their oldest entries. */
  readonly byRank: Heap<Line> = new Heap();
  readonly byAge: Heap<Line> = new Heap();
  /** Its places among the lanes, by the rank, the age and the earliest deadline of what waits. */
  readonly rankNode: HeapNode<Lane> = new HeapNode<Lane>(this);
  readonly ageNode: HeapNode<Lane> = new HeapNode<Lane>(this);
  readonly deadlineNode: HeapNode<Lane> = new HeapNode<Lane>(this);
  size = 0;
  /** What a cost function has said of the entries that go first. Null after one has left. */
  measured: MeasuredEntries | null = null;
  /**
   * What a flush covers: the moments up to this sequence, and how many of their entries still wait.
   */
  flushedUpTo = -1;
  flushed = 0;

  constructor(key: string | undefined, owner: LaneOwner) {
    this.key = key;
    this.#owner = owner;
  }

  /** The line of a priority, where there is one. */
  line({ priority, isSmall }: Pick<Entry, "priority" | "isSmall">): Line | undefined {
    return (isSmall ? this.#smallLines : this.#lines).get(priority);
  }

  open(line: Line): Line {
    if (this.#lines.size + this.#smallLines.size >= 2 * this.byRank.size + KEPT_EMPTY) this.#dropEmpty();
    if (!line.isSmall) this.#lines.set(line.priority, line);
    else if (this.#smallLines === NO_LINES) this.#smallLines = new Map([[line.priority, line]]);
    else this.#smallLines.set(line.priority, line);
    return line;
  }

  #dropEmpty(): void {
    for (const lines of [this.#lines, this.#smallLines]) {
      for (const [priority, { size }] of lines) if (size === 0) lines.delete(priority);
    }
  }

  *lines(): Iterable<Line> {
    yield* this.#lines.values();
    yield* this.#smallLines.values();
  }

  get cost(): number {
    let cost = 0;
    for (const line of this.lines()) cost += line.cost;
    return cost;
  }

  /** When the oldest entry of all lines was submitted; Infinity when nothing waits. */
  oldestAt(): number {
    return this.byAge.first?.key ?? Infinity;
  }

  /**
   * Over the entries of the moments up to the one of this sequence, in the order in which they go.
   */
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

  noteOldest(): void {
    this.#owner.noteOldest(this);
  }

  raise(entry: Entry, priority: number): void {
    this.#owner.raise(entry, priority);
  }

  left(entry: Entry): void {
    if (this.#deadlines?.remove(entry)) this.#owner.noteDeadline(this);
    this.#owner.left(this, entry);
  }

  noteLeft(count: number): void {
    this.size -= count;
    this.measured = null;
    this.#owner.noteLeft(this, count);
  }

  /** Starts or stops to keep the earliest deadlines. */
  keepDeadlines(isKept: boolean): void {
    this.#deadlines = isKept ? new EntryDeadlines() : null;
    this.#owner.noteDeadline(this);
    if (!isKept) return;
    for (const line of this.lines()) {
      const reader = line.reader(Infinity);
      for (; reader.entry !== null; reader.advance(1)) this.noteDeadline(reader.entry);
    }
  }

  /** To be called when the earliest deadline of a waiting entry may have changed. */
  noteDeadline(entry: Entry): void {
    if (this.#deadlines === null || typeof entry.recipient !== "object" || entry.recipient === null) return;
    this.#deadlines.set(entry, entry.recipient.dueAt);
    this.#owner.noteDeadline(this);
  }

  /** The earliest deadline of what waits; Infinity where there is none, or where none is kept. */
  get earliestDueAt(): number {
    return this.#deadlines?.earliest ?? Infinity;
  }
}
