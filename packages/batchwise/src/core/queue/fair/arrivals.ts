// What all tenants of a line have waiting, in one queue in order of arrival, and for each of them the places of its own
// entries there. What came together lies together, whoever sent it, so that an entry costs its tenant one number, and a
// batch that serves tenants in the order in which they came is a whole segment.

import { Fifo, type FifoOwner, LONGEST_SEGMENT, type SegmentShape } from "../fifo.ts";
import type { Sink } from "../recipient.ts";
import type { Segment } from "../segment.ts";
import type { Tenant } from "./tenant.ts";

/** A tenant keeps this many places of entries that have left, and as many as it has entries. */
const KEPT_PLACES = 32;
/** Pages that are gone are cleared away so many at a time. */
const KEPT_GAPS = 64;

/** A segment, and whose its entries are: null for one that has left. */
interface Page {
  readonly segment: Segment;
  readonly tenants: (Tenant | null)[];
}

export interface ArrivalsOwner extends FifoOwner {
  /** Nothing of this tenant waits any more. */
  emptied(tenant: Tenant): void;
}

export class Arrivals implements FifoOwner {
  readonly #owner: ArrivalsOwner;
  readonly fifo: Fifo;
  /** By the number of their segment, less that of the first here; null where all entries have left. */
  readonly #pages: (Page | null)[] = [];
  #firstNumber = 0;
  /** How many pages at the front are gone. */
  #gap = 0;
  #last: Page | null = null;

  constructor(owner: ArrivalsOwner, shape: SegmentShape, priority: number) {
    this.#owner = owner;
    this.fifo = new Fifo(this, shape, priority);
  }

  /** Appends an entry of a tenant and returns the segment whose last one it is. */
  push(tenant: Tenant, item: unknown, sink: Sink, time: number, cost: number): Segment {
    const segment = this.fifo.push(item, sink, time, cost);
    const page = this.#last?.segment === segment ? this.#last : this.#turnTo(segment);
    const index = segment.length - 1;
    page.tenants[index] = tenant;
    tenant.places.push(segment.number * LONGEST_SEGMENT + index);
    tenant.waiting += 1;
    return segment;
  }

  /** Puts a tenant's draft on its first entry, if that is of this epoch or an earlier one. */
  open(tenant: Tenant, lastEpoch: number): void {
    tenant.draftPlace = tenant.head;
    this.#seek(tenant, lastEpoch);
    tenant.head = tenant.draftPlace;
  }

  /** Moves a tenant's draft on to its next entry. */
  advance(tenant: Tenant, lastEpoch: number): void {
    tenant.draftPlace += 1;
    this.#seek(tenant, lastEpoch);
  }

  removed(segment: Segment, count: number, cost: number, from: number, end: number): void {
    const { tenants } = this.#pages[segment.number - this.#firstNumber] as Page;
    const isOver = segment.live === 0 || end - from === segment.length;
    if (isOver) this.#drop(segment);
    for (let index = from; index < end; index += 1) {
      const tenant = tenants[index] as Tenant | null;
      tenants[index] = null;
      if (tenant !== null) this.#left(tenant);
    }
    this.#owner.removed(segment, count, cost, from, end);
  }

  #left(tenant: Tenant): void {
    tenant.waiting -= 1;
    if (tenant.waiting === 0) this.#owner.emptied(tenant);
    else if (tenant.places.length >= 2 * tenant.waiting + KEPT_PLACES) this.#tidy(tenant);
  }

  /** Drops the places of entries that have left. Not before as many have, so it costs each of them one step. */
  #tidy(tenant: Tenant): void {
    const { places } = tenant;
    let kept = 0;
    for (let at = tenant.head; at < places.length; at += 1) {
      const place = places[at] as number;
      if (this.#segmentAt(place) !== null) places[kept++] = place;
    }
    places.length = kept;
    tenant.head = 0;
  }

  #seek(tenant: Tenant, lastEpoch: number): void {
    const { places } = tenant;
    for (; tenant.draftPlace < places.length; tenant.draftPlace += 1) {
      const place = places[tenant.draftPlace] as number;
      const segment = this.#segmentAt(place);
      if (segment === null) continue;
      tenant.draftSegment = segment.epoch <= lastEpoch ? segment : null;
      tenant.draftIndex = place % LONGEST_SEGMENT;
      return;
    }
    tenant.draftSegment = null;
  }

  /** The segment at a place; null where the entry has left. */
  #segmentAt(place: number): Segment | null {
    const page = this.#pages[Math.floor(place / LONGEST_SEGMENT) - this.#firstNumber] ?? null;
    return page === null || page.tenants[place % LONGEST_SEGMENT] === null ? null : page.segment;
  }

  /** The page of the segment that has become the last one: a new one, or an older one again. */
  #turnTo(segment: Segment): Page {
    const known = this.#pages[segment.number - this.#firstNumber] ?? null;
    if (known?.segment === segment) {
      this.#last = known;
      return known;
    }
    const page = { segment, tenants: new Array<Tenant | null>(segment.items.length) };
    segment.number = this.#firstNumber + this.#pages.length;
    this.#pages.push(page);
    this.#last = page;
    return page;
  }

  #drop(segment: Segment): void {
    this.#pages[segment.number - this.#firstNumber] = null;
    if (this.#last?.segment === segment) this.#last = null;
    while (this.#gap < this.#pages.length && this.#pages[this.#gap] === null) this.#gap += 1;
    if (this.#gap < KEPT_GAPS || this.#gap * 2 < this.#pages.length) return;
    this.#pages.splice(0, this.#gap);
    this.#firstNumber += this.#gap;
    this.#gap = 0;
  }
}
