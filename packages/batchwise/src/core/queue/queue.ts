// All waiting entries: lanes by key, and their lines by rank and age, so that the most urgent lane
// and the oldest entry are found without a search. An empty lane is dropped.

import { Heap, HeapNode } from "../time/heap.ts";
import { type Chunk, LONGEST_CHUNK } from "./chunk.ts";
import type { Entry, EntryHolder, Urgency } from "./entry.ts";
import { FairLine } from "./fair-line.ts";
import { Flush, type FlushedBatch, Marks, NO_FLUSHES } from "./flush.ts";
import { Lane, type LaneOwner, Line, lineOf } from "./lane.ts";
import { leadOf } from "./rank.ts";

export interface QueueOptions {
  /** Tenants share batches. */
  readonly isFair: boolean;
  /** Entries of different keys are in different lanes. */
  readonly isKeyed: boolean;
  readonly priorityAgingMs: number;
}

/** The urgency of a plain entry. */
const PLAIN: Urgency = { priority: 0, isSmall: false };

const NO_LANES: ReadonlySet<Lane> = new Set();

export class Queue implements LaneOwner {
  readonly #isFair: boolean;
  readonly #isKeyed: boolean;
  readonly #priorityAgingMs: number;
  /** The lane of entries without a key, which is kept when it is empty. */
  keyless: Lane | null = null;
  #keyed: Map<string, Lane> | null = null;
  /** The line that came first. */
  #first: Line | null = null;
  /** Made for a second line, of any lane. */
  byRank: Heap<Line> | null = null;
  byAge: Heap<Line> | null = null;
  /** Lanes with entries that a flush covers. */
  #flushedLanes = 0;
  #keepsDeadlines = false;
  /** Lanes with deadlines, the earliest first. */
  #byDeadline: Heap<Lane> | null = null;
  #hot: Set<Lane> | null = null;
  /** Number of waiting entries. */
  size = 0;
  /** Entries of a chunk: with as many as a batch has, the first chunk is the next batch. */
  chunkLength: number = LONGEST_CHUNK;
  /** Increases whenever an entry has left, for a batch or early. */
  departures = 0;
  /** Increases whenever a lane is marked hot. */
  marks = 0;

  constructor({ isFair, isKeyed, priorityAgingMs }: QueueOptions) {
    this.#isFair = isFair;
    this.#isKeyed = isKeyed;
    this.#priorityAgingMs = priorityAgingMs;
  }

  push(entry: Entry): Lane {
    const first = this.#first;
    const line = first?.takes(entry) === true ? first : this.#lineOf(this.#lane(entry.key), entry);
    const { lane } = line;
    this.size += 1;
    lane.size += 1;
    lane.cost += entry.cost;
    line.add(entry);
    if (this.#keepsDeadlines) lane.noteDeadline(entry);
    return lane;
  }

  /** Adds plain entries, none older than a waiting one. */
  pushAll(entries: readonly Entry[]): void {
    const lane = this.#lane(undefined);
    this.size += entries.length;
    lane.size += entries.length;
    lane.cost += entries.length;
    this.#lineOf(lane, PLAIN).addAll(entries);
  }

  /**
   * The first chunk of entries without a key, if it has just the first `most` entries, or all
   * waiting ones if they are fewer; else null.
   */
  whole(most: number): Chunk | null {
    const line = this.mostUrgentLine;
    if (line === undefined || line.lane.key !== undefined || this.isFlushed || this.#isFair) return null;
    const chunk = line.whole(most);
    if (chunk === null || this.lineCount === 1) return chunk;
    return chunk.entries.length === most && this.#goesFirst(line, chunk.entries.at(-1) as Entry) ? chunk : null;
  }

  /** True if this entry of the most urgent line goes before all entries of other lines. */
  #goesFirst(line: Line, entry: Entry): boolean {
    const place = line.place as HeapNode<Line>;
    const others = [this.byRank?.below(place, 1), this.byRank?.below(place, 2)];
    return others.every((other) => other === undefined || other.tier > place.tier || other.key > line.rankOf(entry));
  }

  /** Moves a waiting entry to a more urgent line, at the place of its age. */
  raise(entry: Entry, joined: Urgency): void {
    const line = lineOf(entry);
    const { lane } = line;
    line.remove([entry], 0, 1);
    entry.raise(joined);
    this.#lineOf(lane, entry).add(entry);
    lane.measured = null;
    this.departures += 1;
  }

  noteLeft(lane: Lane, count: number): void {
    this.departures += 1;
    this.size -= count;
    if (lane.size === 0) this.#forget(lane);
    if (lane.flushes?.release() === true) {
      lane.flushes = null;
      this.#flushedLanes -= 1;
    }
  }

  noteDeadline(lane: Lane): void {
    const { earliestDueAt } = lane;
    if (earliestDueAt === Infinity) {
      if (lane.deadlineNode !== null) this.#byDeadline?.remove(lane.deadlineNode);
      return;
    }
    // Until a run time is known, another lane than the one with the earliest deadline may have to
    // go first.
    this.markHot(lane);
    this.#byDeadline ??= new Heap();
    lane.deadlineNode ??= new HeapNode(lane);
    this.#byDeadline.put(lane.deadlineNode, earliestDueAt);
  }

  /** Lanes that may be ready for a reason other than age. */
  get hot(): ReadonlySet<Lane> {
    return this.#hot ?? NO_LANES;
  }

  markHot(lane: Lane): void {
    this.#hot ??= new Set();
    this.#hot.add(lane);
    this.marks += 1;
  }

  /**
   * Marks lanes that were checked and are not ready. Does nothing if a lane was marked hot since
   * `marks` was read, because a cost function may have filled or flushed a checked lane.
   */
  markCold(lanes: readonly Lane[], marks: number): void {
    if (this.marks === marks) for (const lane of lanes) this.#hot?.delete(lane);
  }

  /** The lane with the earliest deadline, if deadlines are kept. */
  get earliestDueLane(): Lane | undefined {
    return this.#byDeadline?.first?.value;
  }

  /** Number of lines with entries. */
  get lineCount(): number {
    return this.byRank === null ? Math.min(1, this.size) : this.byRank.size;
  }

  /** The line whose first entry goes before every other line's. */
  get mostUrgentLine(): Line | undefined {
    return this.byRank === null ? this.#single : this.byRank.first?.value;
  }

  /** The line with the entry that has waited longest. */
  get oldestLine(): Line | undefined {
    return this.byAge === null ? this.#single : this.byAge.first?.value;
  }

  /** The only line, if it has entries. */
  get #single(): Line | undefined {
    return this.#first === null || this.#first.oldest === null ? undefined : this.#first;
  }

  /** The lane whose first entry goes before every other lane's. */
  get mostUrgent(): Lane | undefined {
    return this.mostUrgentLine?.lane;
  }

  /** The lane with the entry that has waited longest. */
  get oldestLane(): Lane | undefined {
    return this.oldestLine?.lane;
  }

  /** The entry that has waited longest. */
  get oldest(): Entry | null {
    return this.oldestLine?.oldest ?? null;
  }

  /** Its submit time; Infinity if no entry waits. */
  oldestAt(): number {
    return this.oldest?.moment.at ?? Infinity;
  }

  /** True if a flush covers waiting entries. */
  get isFlushed(): boolean {
    return this.#flushedLanes > 0;
  }

  /**
   * Takes the entries of a batch of one lane and gives them to their new holder, if there is one.
   * Returns the flushes that await the batch from now on.
   */
  take(entries: readonly Entry[], holder: EntryHolder | null): readonly Flush[] {
    if (entries.length === 0) return NO_FLUSHES;
    const { holder: first } = entries[0] as Entry;
    const { lane } = lineOf(entries[0] as Entry);
    if (holder !== null && (first as Chunk).entries === entries) return this.#takeWhole(first as Chunk, holder);
    const flushes = lane.flushes?.batchStarted(entries) ?? NO_FLUSHES;
    const isWatched = this.#keepsDeadlines || lane.flushes !== null;
    let cost = 0;
    for (let from = 0; from < entries.length; ) {
      let { holder: chunk } = entries[from] as Entry;
      const line = lineOf(entries[from] as Entry);
      let end = from;
      for (; end < entries.length; end += 1) {
        const entry = entries[end] as Entry;
        if (entry.holder !== chunk && lineOf(entry) !== line) break;
        chunk = entry.holder;
        if (isWatched) lane.left(entry);
        cost += entry.cost;
      }
      line.take(entries, from, end);
      for (; from < end; from += 1) (entries[from] as Entry).holder = holder;
    }
    lane.noteLeft(entries.length, cost);
    return flushes;
  }

  /** Takes a chunk that `whole` returned: the entries have no flush and no kept deadline. */
  #takeWhole(chunk: Chunk, holder: EntryHolder): readonly Flush[] {
    const { entries, cost } = chunk;
    const line = chunk.line as Line;
    chunk.taker = holder;
    line.take(entries, 0, entries.length);
    line.lane.noteLeft(entries.length, cost);
    return NO_FLUSHES;
  }

  /**
   * Flushes the waiting entries, in all lanes or in that of a key: those up to the moment `upTo`.
   * `done` is called when these and the pausing batches have settled.
   */
  flush(key: string | undefined, upTo: number, pausing: readonly FlushedBatch[], done: () => void): void {
    const flush = new Flush(upTo, done);
    for (const lane of key === undefined ? this.lanes() : [this.#keyed?.get(key)]) {
      if (lane === undefined || lane.size === 0) continue;
      if (lane.flushes === null) this.#flushedLanes += 1;
      lane.flushes ??= new Marks();
      lane.flushes.add(flush, lane.size);
      this.markHot(lane);
    }
    for (const batch of pausing) {
      flush.await();
      batch.flushes = [...batch.flushes, flush];
    }
    flush.release();
  }

  /** Removes all waiting entries, the oldest first. */
  clear(): Entry[] {
    const all: Entry[] = [];
    for (let entry = this.oldest; entry !== null; entry = this.oldest) {
      all.push(entry);
      for (const flush of this.take([entry], null)) flush.release();
    }
    return all;
  }

  /** Starts or stops to keep each lane's earliest deadline. */
  keepDeadlines(isKept: boolean): void {
    if (isKept === this.#keepsDeadlines) return;
    this.#keepsDeadlines = isKept;
    for (const lane of this.#all()) lane.keepDeadlines(isKept);
  }

  /** All lanes with waiting entries. */
  *lanes(): Iterable<Lane> {
    for (const lane of this.#all()) if (lane.size > 0) yield lane;
  }

  *#all(): Iterable<Lane> {
    if (this.keyless !== null) yield this.keyless;
    if (this.#keyed !== null) yield* this.#keyed.values();
  }

  #lane(of: string | undefined): Lane {
    const key = this.#isKeyed ? of : undefined;
    const known = key === undefined ? this.keyless : this.#keyed?.get(key);
    if (known) return known;
    const lane = new Lane(key, this);
    if (this.#keepsDeadlines) lane.keepDeadlines(true);
    if (key === undefined) {
      this.keyless = lane;
    } else {
      this.#keyed ??= new Map();
      this.#keyed.set(key, lane);
    }
    return lane;
  }

  #lineOf(lane: Lane, of: Urgency): Line {
    const known = lane.line(of);
    if (known !== undefined) return known;
    const lead = leadOf(of.priority, of.isSmall, this.#priorityAgingMs);
    const line = this.#isFair ? new FairLine(lane, of, lead) : new Line(lane, of, lead);
    lane.open(line);
    if (this.#first === null) {
      this.#first = line;
    } else if (this.byRank === null) {
      this.byRank = new Heap();
      this.byAge = new Heap();
      this.#first.noteOldest();
    }
    return line;
  }

  #forget(lane: Lane): void {
    this.#hot?.delete(lane);
    if (lane.key !== undefined) this.#keyed?.delete(lane.key);
  }
}
