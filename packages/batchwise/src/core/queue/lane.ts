// A lane holds the waiting entries of one key; a line those of one rank in it. A line is in order of arrival, or in
// rounds of tenants where `fairBy` is in use. Which line goes first, entry by entry, is decided in policy/dispatch-order.ts.

import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry, EntryHolder } from "./entry.ts";
import { EntryDeadlines } from "./entry-deadlines.ts";
import { FairOrder } from "./fair/fair-order.ts";
import { type EntryOrder, type EntryReader, Fifo } from "./fifo.ts";
import type { MeasuredEntries } from "./measured-entries.ts";
import { type Rank, type Ranked, Ranks } from "./ranks.ts";

/** The lines of one rank in all lanes, the one with the oldest entry first. */
export class RankClass implements Ranked {
  readonly priority: number;
  readonly isSmall: boolean;
  readonly lines: Heap<Line> = new Heap();
  /** All classes in which something waits, the one with the oldest entry first, and the place of this one. */
  readonly #byAge: Heap<RankClass>;
  readonly #node: HeapNode<RankClass> = new HeapNode<RankClass>(this);

  constructor({ priority, isSmall }: Rank, byAge: Heap<RankClass>) {
    this.priority = priority;
    this.isSmall = isSmall;
    this.#byAge = byAge;
  }

  /** Keeps its lines, and the classes, in the order of their oldest entries. */
  noteOldest(line: HeapNode<Line>, oldestAt: number): void {
    place(line, this.lines, oldestAt);
    place(this.#node, this.#byAge, this.lines.first?.key ?? Infinity);
  }

  get isEmpty(): boolean {
    return this.lines.size === 0;
  }
}

export class Line implements EntryHolder, Ranked {
  readonly isWaiting = true;
  readonly lane: Lane;
  readonly priority: number;
  readonly isSmall: boolean;
  /** Changed only while nothing waits in the line. */
  rankClass: RankClass;
  readonly #order: EntryOrder;
  /** Its place among the lines of its rank by age. */
  readonly #node: HeapNode<Line> = new HeapNode<Line>(this);
  /** Its place among the lines of its lane by age. */
  readonly #nodeInLane: HeapNode<Line> = new HeapNode<Line>(this);
  #cost = 0;
  /** With `order: "length"`: the oldest entry, where the last batch went without it. */
  passedOver: Entry | null = null;

  constructor(lane: Lane, rankClass: RankClass, isFair: boolean) {
    this.lane = lane;
    this.priority = rankClass.priority;
    this.isSmall = rankClass.isSmall;
    this.rankClass = rankClass;
    this.#order = isFair ? new FairOrder(this) : new Fifo(this);
  }

  get size(): number {
    return this.#order.size;
  }

  get isEmpty(): boolean {
    return this.size === 0;
  }

  get cost(): number {
    return this.#cost;
  }

  /** True for entries of its key and rank. False where nothing waits: it may have been dropped. */
  isFor({ priority, facts }: Entry): boolean {
    // Comparing booleans by `===` is slow.
    const isSmall = facts.isSmall ? this.isSmall : !this.isSmall;
    return priority === this.priority && isSmall && facts.key === this.lane.key && !this.isEmpty;
  }

  push(entry: Entry): void {
    entry.holder = this;
    this.#cost += entry.cost;
    if (this.#order.push(entry)) this.#noteOldest(entry);
    this.lane.added(entry);
  }

  /** Adds the first `count` of these entries, which are plain and know that this line holds them. */
  pushAll(entries: Entry[], count: number): void {
    this.#order.pushAll(entries, count);
    this.#cost += count;
    this.lane.size += count;
    this.#noteOldest(this.oldest);
  }

  /** When its oldest entry was submitted; Infinity when nothing waits. */
  oldestAt(): number {
    return this.#order.oldest?.moment.at ?? Infinity;
  }

  get oldest(): Entry | null {
    return this.#order.oldest;
  }

  /** Over the entries of the moments up to the one of this sequence. */
  reader(lastSequence: number): EntryReader {
    return this.#order.reader(lastSequence);
  }

  left(entry: Entry): void {
    entry.holder = null;
    this.lane.left(entry);
    this.noteLeft([entry], 0, 1, entry.cost);
  }

  /** Called for an entry that is taken out of its turn. */
  charge(entry: Entry): void {
    this.#order.charge(entry);
  }

  raise(entry: Entry, priority: number): void {
    if (priority > entry.priority) this.lane.raise(entry, priority);
  }

  noteDeadline(entry: Entry): void {
    this.lane.noteDeadline(entry);
  }

  /** Called after the entries of `[from, end)`, which cost so much together, have got another holder. */
  noteLeft(entries: readonly Entry[], from: number, end: number, cost: number): void {
    this.#order.left(entries, from, end);
    this.#cost = this.size === 0 ? 0 : this.#cost - cost;
    this.#noteOldest(this.#order.oldest);
    this.lane.noteLeft(end - from);
  }

  /** Keeps the lines of a rank, and those of a lane, in the order of their oldest entries. */
  #noteOldest(oldest: Entry | null): void {
    const oldestAt = oldest === null ? Infinity : oldest.moment.at;
    this.rankClass.noteOldest(this.#node, oldestAt);
    place(this.#nodeInLane, this.lane.byAge, oldestAt);
  }
}

/** Only those in which something waits are in a heap. */
function place<Value>(node: HeapNode<Value>, heap: Heap<Value>, oldestAt: number): void {
  if (oldestAt === Infinity) heap.remove(node);
  else if (node.index === -1) heap.add(node, oldestAt);
  else heap.move(node, oldestAt);
}

/** One who keeps the totals above a lane. */
export interface LaneOwner {
  /** An entry of the lane leaves, for a batch or early. */
  left(lane: Lane, entry: Entry): void;
  /** Called when what left in one step has been counted. */
  noteLeft(lane: Lane, count: number): void;
  /** The earliest deadline of the lane has changed. */
  noteDeadline(lane: Lane): void;
  /** Moves a waiting entry to the line of a higher priority. */
  raise(entry: Entry, priority: number): void;
}

export class Lane {
  readonly key: string | undefined;
  readonly #owner: LaneOwner;
  readonly #lines: Ranks<Line> = new Ranks();
  /** The earliest deadlines of entries that have any. Only kept while lanes are held for company. */
  #deadlines: EntryDeadlines | null = null;
  /** The lines in which something waits, the one with the oldest entry first. */
  readonly byAge: Heap<Line> = new Heap();
  /** Its place among the lanes by their earliest deadlines. */
  readonly node: HeapNode<Lane> = new HeapNode<Lane>(this);
  size = 0;
  /** What a cost function has said of the entries that go first. Null after one has left. */
  measured: MeasuredEntries | null = null;
  /** What a flush covers: the moments up to this sequence, and how many of their entries still wait. */
  flushedUpTo = -1;
  flushed = 0;

  constructor(key: string | undefined, owner: LaneOwner) {
    this.key = key;
    this.#owner = owner;
  }

  /** In the order of their ranks. Some may be empty. */
  get lines(): readonly Line[] {
    return this.#lines.mostlyFilled(this.byAge.size);
  }

  /** The line of a rank, where there is one. */
  line(rank: Rank): Line | undefined {
    return this.#lines.find(rank);
  }

  open(rankClass: RankClass, isFair: boolean): Line {
    return this.#lines.add(new Line(this, rankClass, isFair));
  }

  get cost(): number {
    let cost = 0;
    for (const line of this.lines) cost += line.cost;
    return cost;
  }

  /** When the oldest entry of all lines was submitted; Infinity when nothing waits. */
  oldestAt(): number {
    return this.byAge.first?.key ?? Infinity;
  }

  added(entry: Entry): void {
    this.size += 1;
    if (this.#deadlines !== null) this.noteDeadline(entry);
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
    for (const line of this.lines) {
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
