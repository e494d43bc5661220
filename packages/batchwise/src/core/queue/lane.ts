// A lane holds the waiting entries of one key, in a line for each priority (line.ts).

import { Earliest } from "../time/earliest.ts";
import { Heap, type HeapNode } from "../time/heap.ts";
import type { Entry, Urgency } from "./entry.ts";
import type { Marks } from "./flush.ts";
import type { Line } from "./line.ts";
import type { MeasuredEntries } from "./measured-entries.ts";
import { Merged } from "./merged.ts";
import type { Queue } from "./queue.ts";

/** Empty lines are kept for reuse up to this many, and as many as there are others. */
const KEPT_EMPTY = 8;

/** A line's key in its lane: the priority, as text for small calls. */
function lineKey({ priority, isSmall }: Urgency): number | string {
  return isSmall ? `${priority}` : priority;
}

export class Lane {
  readonly key: string | undefined;
  readonly owner: Queue;
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

  constructor(key: string | undefined, owner: Queue) {
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
