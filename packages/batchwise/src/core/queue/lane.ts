// A lane holds the waiting entries of one key, in a line for each priority; small calls have lines
// of their own. A line is in order of age, or shared by tenants with `fairBy` (fair-line.ts).

import { Earliest } from "../time/earliest.ts";
import { Heap, HeapNode } from "../time/heap.ts";
import { type Ends, link } from "../time/linked-list.ts";
import type { Moment } from "../time/turn.ts";
import { Chunk, ChunkReader, type EntryOwner, insertByAge, type Reader, remove, type WaitingHolder } from "./chunk.ts";
import { type Entry, NO_FACTS, type Urgency } from "./entry.ts";
import type { Marks } from "./flush.ts";
import type { MeasuredEntries } from "./measured-entries.ts";
import { Merged, type Source } from "./merged.ts";
import type { Lead } from "./rank.ts";

/** The waiting entries of one priority, by age: a list of chunks, none of which is empty. */
export class Line implements EntryOwner, Ends<Chunk>, Source {
  readonly lane: Lane;
  readonly priority: number;
  readonly isSmall: boolean;
  /** True for entries that have neither a key nor `isSmall`. */
  readonly #isPlain: boolean;
  readonly #lead: Lead;
  first: Chunk | null = null;
  last: Chunk | null = null;
  /** The moment of the last entry that was appended, or another one as early. */
  #lastMoment: Moment | null = null;
  /** Its places by rank and by age among the lines of all lanes. Made when there are others. */
  place: HeapNode<Line> | null = null;
  #byAge: HeapNode<Line> | null = null;
  /** Its place by rank in its lane. Made when the lane has a second line. */
  #inLane: HeapNode<Line> | null = null;
  /** The oldest entry, if the last batch did not take it. */
  passedOver: Entry | null = null;

  constructor(lane: Lane, { priority, isSmall }: Urgency, lead: Lead) {
    this.lane = lane;
    this.priority = priority;
    this.isSmall = isSmall;
    this.#isPlain = lane.key === undefined && !isSmall;
    this.#lead = lead;
  }

  /** True if it is the line of an entry without rare facts. */
  takes({ facts, priority }: Entry): boolean {
    return facts === NO_FACTS && priority === this.priority && this.#isPlain;
  }

  /** The entry that came first. */
  get oldest(): Entry | null {
    return this.first === null ? null : (this.first.entries[0] as Entry);
  }

  /** A reader of the entries of moments up to this sequence. */
  reader(upTo: number): Reader {
    return new ChunkReader(this.first, upTo);
  }

  /** The first chunk, if it has just the first `most` entries, or all if fewer; else null. */
  whole(most: number): Chunk | null {
    const { first } = this;
    if (first === null || first.entries.length > most) return null;
    return first.next === null || first.entries.length === most ? first : null;
  }

  // Entries come.

  add(entry: Entry): void {
    if (this.insert(entry)) this.noteOldest();
  }

  /** Adds entries, none older than the youngest one. */
  addAll(entries: readonly Entry[]): void {
    const wasEmpty = this.first === null;
    const length = this.lane.owner.chunkLength;
    let from = 0;
    const { last } = this;
    for (; last !== null && last.entries.length < length && from < entries.length; from += 1) {
      last.push(entries[from] as Entry);
    }
    for (; from < entries.length; from += length) this.#append(entries.slice(from, from + length));
    this.#lastMoment = entries.at(-1)?.moment ?? null;
    if (wasEmpty) this.noteOldest();
  }

  /** Adds an entry at its place. Returns whether it is now the oldest. */
  protected insert(entry: Entry): boolean {
    if (entry.moment !== this.#lastMoment && !this.#isYoungest(entry)) {
      insertByAge(this, entry);
      return this.oldest === entry;
    }
    const { last } = this;
    if (last === null || last.entries.length >= this.lane.owner.chunkLength) return this.#append([entry]);
    last.push(entry);
    return false;
  }

  /** True unless an entry is younger. */
  #isYoungest({ moment }: Entry): boolean {
    const youngest = this.last?.entries.at(-1);
    if (youngest !== undefined && youngest.moment.at > moment.at) return false;
    this.#lastMoment = moment;
    return true;
  }

  /** Adds a chunk. Returns whether it is the only one. */
  #append(entries: Entry[]): boolean {
    link(this, new Chunk(this, entries), this.last);
    return this.first === this.last;
  }

  update(entry: Entry, joined: Urgency): void {
    if (entry.isLessUrgentThan(joined)) this.lane.owner.raise(entry, joined);
    this.lane.noteDeadline(entry);
  }

  // Entries leave.

  /** An entry leaves early. */
  left(entry: Entry): void {
    this.lane.left(entry);
    this.remove([entry], 0, 1);
    entry.holder = null;
    this.lane.noteLeft(1, entry.cost);
  }

  /** Removes the entries of `[from, end)` for a batch. */
  take(entries: readonly Entry[], from: number, end: number): void {
    const { oldest } = this;
    this.remove(entries, from, end, true);
    this.passedOver = this.oldest === oldest ? oldest : null;
  }

  /** Removes the entries of `[from, end)`, which it holds. `isServed`: a batch takes them. */
  remove(entries: readonly Entry[], from: number, end: number, isServed: boolean = false): void {
    this.drop(entries, from, end, isServed);
    this.noteOldest();
  }

  protected drop(entries: readonly Entry[], from: number, end: number, _isServed: boolean): void {
    remove(this, entries, from, end);
  }

  // Its places among other lines.

  rankOf({ moment }: Entry): number {
    return moment.at - this.#lead.leadMs;
  }

  /** Updates its places. Only a line with entries is in a heap. */
  noteOldest(): void {
    const { owner, byRank } = this.lane;
    if (owner.byRank === null || owner.byAge === null) return;
    const { oldest } = this;
    this.place ??= new HeapNode<Line>(this);
    this.#byAge ??= new HeapNode<Line>(this);
    this.#put(owner.byRank, this.place, oldest);
    if (oldest === null) owner.byAge.remove(this.#byAge);
    else owner.byAge.put(this.#byAge, oldest.moment.at);
    if (byRank === null) return;
    this.#inLane ??= new HeapNode<Line>(this);
    this.#put(byRank, this.#inLane, oldest);
  }

  #put(heap: Heap<Line>, place: HeapNode<Line>, oldest: Entry | null): void {
    if (oldest === null) heap.remove(place);
    else heap.put(place, this.rankOf(oldest), oldest.moment.at, this.#lead.tier);
  }
}

/** The line in which an entry waits. */
export function lineOf({ holder }: Entry): Line {
  return (holder as WaitingHolder<unknown>).line as Line;
}

/** Keeps totals over all lanes. */
export interface LaneOwner {
  /** Lines with entries, by the rank and by the age of their oldest entry; null for one line. */
  readonly byRank: Heap<Line> | null;
  readonly byAge: Heap<Line> | null;
  /** Most entries of a chunk. */
  readonly chunkLength: number;
  /** Called when the entries that left in one step have been counted. */
  noteLeft(lane: Lane, count: number): void;
  /** The lane's earliest deadline has changed. */
  noteDeadline(lane: Lane): void;
  /** Moves a waiting entry to the line of a higher priority. */
  raise(entry: Entry, joined: Urgency): void;
}

/** Empty lines are kept for reuse up to this many, and as many as there are others. */
const KEPT_EMPTY = 8;

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

  /** True if a flush covers some of its entries. */
  get isFlushed(): boolean {
    return this.flushes !== null;
  }

  /** The line for an entry, if it exists. */
  line(entry: Urgency): Line | undefined {
    const first = this.#first;
    if (first !== null && first.priority === entry.priority && first.isSmall === entry.isSmall) return first;
    return this.#lines?.get(lineKey(entry));
  }

  open(line: Line): void {
    const first = this.#first;
    if (first === null) {
      this.#first = line;
      return;
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
  }

  /** How many lines have entries, if any has. */
  get lineCount(): number {
    return this.byRank?.size ?? 1;
  }

  /** The place of its first line among all lines. Requires an entry, and a second line. */
  get place(): HeapNode<Line> {
    return (this.byRank?.first?.value ?? (this.#first as Line)).place as HeapNode<Line>;
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

  /** Call for each entry that leaves, for a batch or early. */
  left(entry: Entry): void {
    this.flushes?.left(entry);
    if (this.#deadlines?.remove(entry)) this.owner.noteDeadline(this);
  }

  /** Call after `count` entries with a total cost of `cost` have left in one step. */
  noteLeft(count: number, cost: number): void {
    this.size -= count;
    // A sum that has overflowed stays infinite until the lane is empty.
    if (this.size === 0) this.cost = 0;
    else if (this.cost < Infinity) this.cost -= cost;
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
