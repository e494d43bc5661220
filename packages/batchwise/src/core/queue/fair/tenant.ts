// One tenant of a line: where its entries lie, what it has saved, its neighbours in the ring, and what a cursor has made
// of all that so far.

import type { Segment } from "../segment.ts";

export class Tenant {
  readonly name: string;
  /** Where its entries lie, the oldest first: see arrivals.ts. Some may be of entries that have left. */
  readonly places: number[] = [];
  /** No place before this one is of an entry that waits. */
  head = 0;
  /** How many of its entries wait. */
  waiting = 0;
  deficit = 0;
  previous: Tenant = this;
  next: Tenant = this;
  /** The number of the cursor that these drafts are of; to others they mean nothing. */
  draftOf = 0;
  /** Which of its places is next, and what lies there; no segment at the end. */
  draftPlace = 0;
  draftSegment: Segment | null = null;
  draftIndex = 0;
  draftDeficit = 0;
  draftNext: Tenant = this;

  constructor(name: string) {
    this.name = name;
  }
}
