// The short way into the queue, for the submits of one turn that need nothing but their place: after the first of
// them has gone the long way, the others are written straight into the segment that it came to lie in. The shortcut
// is closed before anything else looks at or changes the queue, so nobody sees a count that is behind.

import type { Party, Segment, Sink } from "./segment.ts";

export class Shortcut {
  #segment: Segment | null = null;
  #from = 0;
  #end = 0;

  /** Opens behind the last entry of a segment, for as many entries as there is room for. */
  open(segment: Segment, room: number): void {
    this.#segment = segment;
    this.#from = segment.length;
    this.#end = segment.length + room;
  }

  /** Adds an entry like the one before it; false where the shortcut is closed or used up. */
  add(item: unknown, sink: Sink, position: number): boolean {
    const segment = this.#segment;
    if (segment === null || segment.length >= this.#end) return false;
    segment.appendAlike(item, sink, position);
    return true;
  }

  /** Adds the items from `from` on that there is room for; returns the index of the first that it did not add. */
  addAll(items: readonly unknown[], from: number, party: Party): number {
    const segment = this.#segment;
    if (segment === null) return from;
    const to = Math.min(items.length, from + this.#end - segment.length);
    if (to > from) segment.appendAllAlike(items, from, to, party);
    return Math.max(from, to);
  }

  /** Closes, and tells how many entries were added. */
  close(): number {
    const segment = this.#segment;
    if (segment === null) return 0;
    this.#segment = null;
    return segment.length - this.#from;
  }
}
