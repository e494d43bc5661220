// The short way into the queue, for the submits of one turn that need nothing but their place, a cost and a priority:
// after the first of a priority has gone the long way, the others are written straight into the segment that it came
// to lie in. The ways are closed before anything else looks at or changes the queue, so nobody sees a count that is
// behind.

import type { Party, Segment, Sink } from "./segment.ts";

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
  #added = 0;
  #unused = 0;

  /** Closes the way of a priority, before an entry of it goes the long way. */
  shut(priority: number): void {
    const known = this.#ways.findIndex((way) => way.priority === priority);
    if (known !== -1) this.#count(this.#ways.splice(known, 1)[0] as Way);
  }

  /** Opens a way behind the last entry of a segment for `room` more. Returns how many are reserved: none or all. */
  open(priority: number, segment: Segment, room: number, maxCost: number): number {
    if (room <= 0 || this.#ways.length === MOST_OPEN) return 0;
    this.#ways.push({ priority, segment, from: segment.length, end: segment.length + room, maxCost });
    return room;
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

  /** Adds the items from `from` on that there is room for, at a cost of 1; returns the first that it did not add. */
  addAll(items: readonly unknown[], from: number, party: Party): number {
    const way = this.#find(0);
    if (way === undefined || way.segment.costs !== null) return from;
    const { segment } = way;
    const room = Math.min(way.end - segment.length, Math.floor(way.maxCost - segment.cost));
    const to = Math.min(items.length, from + room);
    if (to > from) segment.appendAllAlike(items, from, to, party);
    return Math.max(from, to);
  }

  /** Closes all ways; returns how many entries were added, and how many reserved places were not used. */
  close(): { readonly added: number; readonly unused: number } {
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
