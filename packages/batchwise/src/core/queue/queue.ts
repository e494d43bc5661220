// All waiting entries: lanes by key, and their lines by rank and age, so that the most urgent lane
// and the oldest entry are found without a search. An empty lane is dropped.

import { Heap } from "../time/heap.ts";
import type { Entry, EntryHolder } from "./entry.ts";
import type { EntryReader } from "./fifo.ts";
import { type FlushedBatch, Flushes } from "./flush.ts";
import { Lane, type LaneOwner, Line } from "./lane.ts";
import { rankOf } from "./rank.ts";

/**
 * A batch plan: these entries in this order, and the reader that has read them; null if they are
 * taken out of order.
 */
export interface BatchPlan {
  readonly entries: readonly Entry[];
  readonly reader: Pick<EntryReader, "commit"> | null;
}

export interface QueueOptions {
  /** Tenants share batches. */
  readonly isFair: boolean;
  /** Entries of different keys are in different lanes. */
  readonly isKeyed: boolean;
  readonly priorityAgingMs: number;
}

/** A plain entry. */
const PLAIN: Pick<Entry, "priority" | "isSmall"> = { priority: 0, isSmall: false };

const NO_ROOM: Entry[] = [];
/** Replaces a taken arrival. */
const GONE: Entry = null as never;
const NO_LANES: ReadonlySet<Lane> = new Set();

export class Queue implements LaneOwner {
  readonly #isFair: boolean;
  readonly #isKeyed: boolean;
  readonly #priorityAgingMs: number;
  /** By key. The lane of entries without a key is kept when it is empty. */
  readonly #lanes: Map<string | undefined, Lane> = new Map();
  /** Lanes by the rank of their first entries. */
  readonly #byRank: Heap<Lane> = new Heap();
  readonly byAge: Heap<Line> = new Heap();
  readonly flushes: Flushes = new Flushes();
  #keepsDeadlines = false;
  /** Lanes with deadlines, the earliest first. */
  #byDeadline: Heap<Lane> | null = null;
  #hot: Set<Lane> | null = null;
  /** Recently used lines, by the last bits of their priority. */
  readonly #recent: Line[] = [];
  /** The line of the arrivals. */
  #plain: Line | null = null;
  /**
   * Array for plain entries, and how many have come. They move to their line when its order is
   * needed.
   */
  #arrivals: Entry[] = NO_ROOM;
  #arrived = 0;
  /** Number of entries in lines. */
  #placed = 0;
  /** Increases whenever an entry has left, for a batch or early. */
  departures = 0;

  constructor({ isFair, isKeyed, priorityAgingMs }: QueueOptions) {
    this.#isFair = isFair;
    this.#isKeyed = isKeyed;
    this.#priorityAgingMs = priorityAgingMs;
  }

  /** Number of waiting entries. */
  get size(): number {
    return this.#placed + this.#arrived;
  }

  push(entry: Entry): Lane {
    this.endRoom();
    const { priority } = entry;
    let line = this.#recent[priority & 7];
    if (line === undefined || !line.isFor(entry)) {
      line = this.#lineOf(this.#lane(entry.key), entry);
      this.#recent[priority & 7] = line;
    }
    this.#placed += 1;
    line.push(entry);
    return line.lane;
  }

  /**
   * Takes an array of plain entries with capacity for more: the first `arrived` places are filled.
   * The queue keeps the array.
   */
  receive(arrivals: Entry[], arrived: number): void {
    this.endRoom();
    const line = this.#lineOf(this.#lane(undefined), PLAIN);
    for (let index = 0; index < arrived; index += 1) (arrivals[index] as Entry).holder = line;
    this.#plain = line;
    this.#arrivals = arrivals;
    this.#arrived = arrived;
  }

  /** Adds a plain entry. Returns false if the array is full or closed. */
  arrive(entry: Entry): boolean {
    if (this.#arrived === this.#arrivals.length) return false;
    entry.holder = this.#plain;
    this.#arrivals[this.#arrived] = entry;
    this.#arrived += 1;
    return true;
  }

  /** The plain arrivals, if no other entry waits and they are at most `most`. */
  arrivals(most: number): Entry[] | null {
    const arrived = this.#arrived;
    return arrived === 0 || arrived > most || this.#placed > 0 ? null : this.#arrivals.slice(0, arrived);
  }

  /** Takes all entries that `arrivals` returned, and keeps the array for later ones. */
  #takeArrivals(entries: readonly Entry[], holder: EntryHolder): void {
    this.departures += 1;
    this.#arrived = 0;
    for (let index = 0; index < entries.length; index += 1) {
      (entries[index] as Entry).holder = holder;
      this.#arrivals[index] = GONE;
    }
  }

  /** Closes the array for plain entries and moves those that came to their line. */
  endRoom(): void {
    const arrivals = this.#arrivals;
    if (arrivals === NO_ROOM) return;
    const arrived = this.#arrived;
    this.#arrivals = NO_ROOM;
    this.#arrived = 0;
    if (arrived === 0) return;
    this.#placed += arrived;
    this.#plain?.pushAll(arrivals, arrived);
  }

  /** Moves a waiting entry to the line of a higher priority, at the place of its age. */
  raise(entry: Entry, priority: number): void {
    this.endRoom();
    const line = entry.holder as Line;
    entry.priority = priority;
    this.#placed += 1;
    this.#lineOf(line.lane, entry).push(entry);
    line.noteLeft([entry], 0, 1, entry.cost);
  }

  left(lane: Lane, { moment }: Entry): void {
    if (this.flushes.isEmpty) return;
    if (moment.sequence <= lane.flushedUpTo) lane.flushed -= 1;
    this.flushes.entryLeft(lane.key, moment.sequence);
  }

  noteLeft(lane: Lane, count: number): void {
    this.departures += 1;
    this.#placed -= count;
    if (lane.size === 0) this.#forget(lane);
    if (!this.flushes.isEmpty) this.flushes.endDone(lane.key);
  }

  noteRank({ rankNode, byRank: { first } }: Lane): void {
    if (first === undefined) this.#byRank.remove(rankNode);
    else this.#byRank.put(rankNode, first.key, first.tie, first.tier);
  }

  noteDeadline(lane: Lane): void {
    const { earliestDueAt, deadlineNode } = lane;
    if (earliestDueAt === Infinity) {
      this.#byDeadline?.remove(deadlineNode);
      return;
    }
    // Until a run time is known, another lane than the one with the earliest deadline may have to
    // go first.
    this.markHot(lane);
    this.#byDeadline ??= new Heap();
    this.#byDeadline.put(deadlineNode, earliestDueAt);
  }

  /** Lanes that may be ready for a reason other than age. */
  get hot(): ReadonlySet<Lane> {
    return this.#hot ?? NO_LANES;
  }

  markHot(lane: Lane): void {
    this.#hot ??= new Set();
    this.#hot.add(lane);
  }

  markCold(lane: Lane): void {
    this.#hot?.delete(lane);
  }

  /** The lane with the earliest deadline, if deadlines are kept. */
  get earliestDueLane(): Lane | undefined {
    return this.#byDeadline?.first?.value;
  }

  /** The lane whose first entry goes before those of all other lanes. */
  get mostUrgent(): Lane | undefined {
    this.endRoom();
    return this.#byRank.first?.value;
  }

  /** The lane with the entry that has waited longest. */
  get oldestLane(): Lane | undefined {
    this.endRoom();
    return this.byAge.first?.value.lane;
  }

  /** The entry that has waited longest. */
  get oldest(): Entry | null {
    this.endRoom();
    return this.byAge.first?.value.oldest ?? null;
  }

  /** Its submit time; Infinity if no entry waits. */
  oldestAt(): number {
    const arrivedAt = this.#arrived > 0 ? (this.#arrivals[0] as Entry).moment.at : Infinity;
    return Math.min(arrivedAt, this.byAge.first?.key ?? Infinity);
  }

  /** Takes the entries of a batch, from lines or arrivals, and gives them to their new holder. */
  take({ entries, reader }: BatchPlan, holder: EntryHolder): void {
    if (this.#placed === 0) {
      this.#takeArrivals(entries, holder);
      return;
    }
    reader?.commit();
    const isWatched = this.#keepsDeadlines || !this.flushes.isEmpty;
    for (let from = 0; from < entries.length; ) {
      const line = (entries[from] as Entry).holder as Line;
      const { lane } = line;
      let end = from;
      let cost = 0;
      for (; end < entries.length; end += 1) {
        const entry = entries[end] as Entry;
        if (entry.holder !== line) break;
        if (isWatched) lane.left(entry);
        entry.holder = holder;
        cost += entry.cost;
      }
      line.noteLeft(entries, from, end, cost);
      from = end;
    }
  }

  /**
   * Marks the waiting entries, in all lanes or in that of a key, as flushed: those up to the moment
   * `upTo`. `done` is called when all have settled.
   */
  flush(key: string | undefined, upTo: number, resting: readonly FlushedBatch[], done: () => void): void {
    let waiting = 0;
    for (const lane of key === undefined ? this.lanes() : [this.#lanes.get(key)]) {
      if (lane === undefined) continue;
      waiting += lane.size;
      lane.flushed = lane.size;
      lane.flushedUpTo = upTo;
      this.markHot(lane);
    }
    this.flushes.add(key, upTo, waiting, resting, done);
  }

  /** Removes all waiting entries, the oldest first. */
  clear(holder: EntryHolder): Entry[] {
    const all: Entry[] = [];
    for (let entry = this.oldest; entry !== null; entry = this.oldest) {
      all.push(entry);
      this.take({ entries: [entry], reader: null }, holder);
    }
    return all;
  }

  /** Starts or stops to keep each lane's earliest deadline. */
  keepDeadlines(isKept: boolean): void {
    if (isKept === this.#keepsDeadlines) return;
    this.endRoom();
    this.#keepsDeadlines = isKept;
    for (const lane of this.#lanes.values()) lane.keepDeadlines(isKept);
  }

  /** All lanes with waiting entries. */
  *lanes(): Iterable<Lane> {
    this.endRoom();
    for (const lane of this.#lanes.values()) if (lane.size > 0) yield lane;
  }

  #lane(of: string | undefined): Lane {
    const key = this.#isKeyed ? of : undefined;
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = new Lane(key, this);
      if (this.#keepsDeadlines) lane.keepDeadlines(true);
      this.#lanes.set(key, lane);
    }
    return lane;
  }

  #lineOf(lane: Lane, of: Pick<Entry, "priority" | "isSmall">): Line {
    const known = lane.line(of);
    if (known !== undefined) return known;
    return lane.open(new Line(lane, of, rankOf(of.priority, of.isSmall, this.#priorityAgingMs), this.#isFair));
  }

  #forget(lane: Lane): void {
    this.markCold(lane);
    if (lane.key !== undefined) this.#lanes.delete(lane.key);
  }
}
