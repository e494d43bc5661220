// The short way into the queue, for the submits of one turn that need nothing but their place, a cost and a priority:
// after the first of a priority has gone the long way, the others are written straight into the segment that it came
// to lie in. The ways are closed before anything else changes the queue or is counted, so nobody sees a count that is
// behind.

import type { Party, Sink } from "../queue/recipient.ts";
import type { Segment } from "../queue/segment.ts";

/** Priorities with a shortcut at a time; entries of others go the long way. */
const MOST_OPEN = 4;

interface Way {
  readonly priority: number;
  readonly segment: Segment;
  /** Where the segment stood when the way was opened, how far it may grow, and how much it may cost. */
  readonly from: number;
  readonly end: number;
  readonly maxCost: number;
}

export class Shortcuts {
  readonly #ways: Way[] = [];
  /** The way of priority 0 once more, and how long its segment may grow at a cost of 1 an entry. */
  #plain: Segment | null = null;
  #plainEnd = 0;
  #added = 0;
  #unused = 0;

  /** Closes the way of a priority, before an entry of it goes the long way. */
  shut(priority: number): void {
    if (priority === 0) this.#plain = null;
    const way = this.#find(priority);
    if (way === undefined) return;
    this.#ways.splice(this.#ways.indexOf(way), 1);
    this.#count(way);
  }

  /** Opens a way behind the last entry of a segment for `room` more. Returns how many are reserved: none or all. */
  open(priority: number, segment: Segment, room: number, maxCost: number): number {
    if (room <= 0 || this.#ways.length === MOST_OPEN) return 0;
    const end = segment.length + room;
    this.#ways.push({ priority, segment, from: segment.length, end, maxCost });
    if (priority === 0 && segment.costs === null) {
      this.#plain = segment;
      this.#plainEnd = Math.min(end, segment.length + Math.floor(maxCost - segment.cost));
    }
    return room;
  }

  /** Adds an entry of priority 0 to a queue in which every entry costs 1; false where there is no way for it. */
  addPlain(item: unknown, sink: Sink): boolean {
    const segment = this.#plain;
    if (segment === null || segment.length >= this.#plainEnd) return false;
    segment.appendAlike(item, sink, 0, 1);
    return true;
  }

  /** Adds an entry; false where there is no way for it. */
  add(priority: number, item: unknown, sink: Sink, position: number, cost: number): boolean {
    const way = this.#find(priority);
    if (way === undefined) return false;
    const { segment } = way;
    if (segment.length >= way.end || segment.cost + cost > way.maxCost) return false;
    segment.appendAlike(item, sink, position, cost);
    return true;
  }

  /** Adds the items of `[from, end)` that there is room for, at a cost of 1; returns the first that it did not add. */
  addAll(items: readonly unknown[], from: number, end: number, party: Party): number {
    const segment = this.#plain;
    if (segment === null) return from;
    const to = Math.min(end, from + this.#plainEnd - segment.length);
    if (to > from) segment.appendAllAlike(items, from, to, party);
    return Math.max(from, to);
  }

  /** Closes all ways; returns how many entries were added, and how many reserved places were not used. */
  close(): { readonly added: number; readonly unused: number } {
    this.#plain = null;
    if (this.#ways.length > 0) {
      for (const way of this.#ways) this.#count(way);
      this.#ways.length = 0;
    }
    const counts = { added: this.#added, unused: this.#unused };
    this.#added = 0;
    this.#unused = 0;
    return counts;
  }

  #count({ segment, from, end }: Way): void {
    this.#added += segment.length - from;
    this.#unused += end - segment.length;
  }

  #find(priority: number): Way | undefined {
    const ways = this.#ways;
    for (let index = 0; index < ways.length; index += 1) {
      if ((ways[index] as Way).priority === priority) return ways[index];
    }
    return undefined;
  }
}
