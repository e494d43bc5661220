// A line holds the waiting entries of one priority of a lane, by age, in chunks (chunk.ts). Small
// calls have lines of their own. Tenants share a line with `fairBy` (fair-line.ts).

import { type Heap, HeapNode } from "../time/heap.ts";
import { type Ends, link, unlink } from "../time/linked-list.ts";
import type { Moment } from "../time/turn.ts";
import { Chunk, ChunkReader, LONGEST_CHUNK, type Reader, type WaitingHolder } from "./chunk.ts";
import { type Entry, NO_FACTS, type Urgency } from "./entry.ts";
import type { Lane } from "./lane.ts";
import type { Lead } from "./rank.ts";

/** Entries of an unlinked chunk, so that it keeps no entries alive. Never changed. */
const NONE: Entry[] = [];

/** A list of chunks, none of which is empty. */
export class Line implements Ends<Chunk> {
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
    if (entry.moment !== this.#lastMoment && !this.#isYoungest(entry)) return this.#insertByAge(entry);
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

  /** Inserts an older entry after all entries at least as old. Joins short chunks before it. */
  #insertByAge(entry: Entry): boolean {
    const isYounger = ({ moment }: Entry): boolean => moment.at > entry.moment.at;
    let chunk = this.first as Chunk;
    while (!isYounger(chunk.entries.at(-1) as Entry)) {
      const { previous } = chunk;
      if (previous !== null && previous.entries.length + chunk.entries.length <= LONGEST_CHUNK / 2) {
        for (const moved of chunk.entries) previous.push(moved);
        this.#dropChunk(chunk);
        chunk = previous;
      }
      chunk = chunk.next as Chunk;
    }
    const { entries } = chunk;
    chunk.insert(entries.findIndex(isYounger), entry);
    if (entries.length > LONGEST_CHUNK) link(this, new Chunk(this, entries.splice(LONGEST_CHUNK / 2)), chunk);
    return this.oldest === entry;
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
    for (let index = from; index < end; ) {
      const chunk = (entries[index] as Entry).holder as Chunk;
      const held = chunk.entries;
      if (held === entries) {
        this.#dropChunk(chunk);
        return;
      }
      const start = held.indexOf(entries[index] as Entry);
      let count = 1;
      while (index + count < end && held[start + count] === entries[index + count]) count += 1;
      index += count;
      if (count === held.length) this.#dropChunk(chunk);
      else chunk.remove(start, count);
    }
  }

  #dropChunk(chunk: Chunk): void {
    unlink(this, chunk);
    chunk.entries = NONE;
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
  return (holder as WaitingHolder<unknown>).line;
}
