// Submits that a full queue holds back (`onFull: "wait"`), in order of arrival. They are not counted as waiting; their
// deadlines and signals run. Nobody overtakes them: while the room is not empty, every submit goes through it.

import { Fifo } from "../queue/fifo.ts";
import type { Segment } from "../queue/segment.ts";
import type { Entry } from "./read-item.ts";

const SEGMENT_LENGTH = 256;

export class WaitingRoom {
  readonly #fifo: Fifo;

  constructor() {
    const shape = { maxItems: SEGMENT_LENGTH, maxCost: Number.POSITIVE_INFINITY, epoch: 0 };
    this.#fifo = new Fifo({ removed: () => {} }, shape, 0);
  }

  get size(): number {
    return this.#fifo.size;
  }

  /** Returns the segment whose last entry it is. */
  push(entry: Entry): Segment {
    const segment = this.#fifo.push(entry, entry.sink, entry.time, 1);
    if (entry.position > 0) segment.setPosition(segment.length - 1, entry.position);
    if (entry.dueAt < Number.POSITIVE_INFINITY) {
      segment.setDue(segment.length - 1, entry.dueAt, entry.timeoutMs);
    }
    return segment;
  }

  /** The entry that came first, or undefined. */
  shift(): Entry | undefined {
    const segment = this.#fifo.first;
    if (segment === null) return undefined;
    const entry = segment.items[segment.head] as Entry;
    segment.vacate(segment.head);
    return entry;
  }
}
