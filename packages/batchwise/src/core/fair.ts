// Deficit round robin (Shreedhar and Varghese, 1995): tenants take turns, and in its turn a tenant may spend what it
// has saved plus one quantum of cost. Each tenant's own entries stay in order. Over any stretch in which two tenants
// both wait, the costs they are served differ by less than one quantum plus one largest item.
//
// The quantum is the mean cost of what waits, so a turn serves one entry on average and the work per entry is O(1).
// An entry that costs nothing is charged one quantum, or its tenant would never yield.

import { Fifo, type FifoOwner, type SegmentShape } from "./fifo.ts";
import { type Heaped, LazyHeap } from "./lazy-heap.ts";
import type { Segment } from "./segment.ts";
import type { Sink } from "./sink.ts";

/** A sum that has fallen to this share of its highest has lost too many digits to go on with. */
const LEAST_SHARE = 2 ** -20;

export class Tenant implements Heaped, FifoOwner {
  readonly name: string;
  readonly fifo: Fifo;
  readonly #ring: FairRing;
  heaped = false;
  deficit = 0;
  previous: Tenant = this;
  next: Tenant = this;
  /** What a cursor has made of this tenant so far; only valid while `draftOf` is that cursor. */
  draftOf: object | null = null;
  draftSegment: Segment | null = null;
  draftIndex = 0;
  draftDeficit = 0;
  draftNext: Tenant = this;

  constructor(name: string, ring: FairRing, shape: SegmentShape, priority: number) {
    this.name = name;
    this.#ring = ring;
    this.fifo = new Fifo(this, shape, priority);
  }

  removed(epoch: number, count: number, cost: number): void {
    this.#ring.removed(this, epoch, count, cost);
  }
}

/** The tenants of one line, in a ring of those who wait. */
export class FairRing {
  readonly #owner: FifoOwner;
  readonly #shape: SegmentShape;
  readonly #priority: number;
  readonly #tenants: Map<string, Tenant> = new Map();
  readonly #byAge: LazyHeap<Tenant> = new LazyHeap(
    (tenant) => tenant.fifo.oldestAt(),
    (tenant) => tenant.fifo.size === 0,
  );
  size = 0;
  /** The sum of what waits, as exact as floating point is when added up anew. */
  cost = 0;
  /** The highest that the sum was since it was added up, and the entries that have come or gone since. */
  #highest = 0;
  #changes = 0;
  /** Whose turn it is, and whether its quantum has been granted. */
  current: Tenant | null = null;
  turnBegun = false;

  constructor(owner: FifoOwner, shape: SegmentShape, priority: number) {
    this.#owner = owner;
    this.#shape = shape;
    this.#priority = priority;
  }

  get quantum(): number {
    const mean = Math.min(this.cost / this.size, Number.MAX_VALUE);
    return mean > 0 ? mean : 1;
  }

  push(name: string, item: unknown, sink: Sink, time: number, cost: number): Segment {
    const tenant = this.#tenants.get(name) ?? this.#join(name);
    const segment = tenant.fifo.push(item, sink, time, cost);
    this.size += 1;
    this.cost += cost;
    if (this.cost > this.#highest) this.#highest = this.cost;
    this.#changes += 1;
    if (!tenant.heaped) this.#byAge.push(tenant);
    return segment;
  }

  *segments(): Iterable<Segment> {
    for (const tenant of this.#tenants.values()) yield* tenant.fifo.segments();
  }

  oldestAt(): number {
    return this.#byAge.peek()?.fifo.oldestAt() ?? Number.POSITIVE_INFINITY;
  }

  oldestSegment(): Segment | null {
    return this.#byAge.peek()?.fifo.first ?? null;
  }

  removed(tenant: Tenant, epoch: number, count: number, cost: number): void {
    this.size -= count;
    this.cost -= cost;
    this.#changes += count;
    if (this.cost <= this.#highest * LEAST_SHARE && this.#changes >= this.size) this.#addUp();
    if (tenant.fifo.size === 0) this.#leave(tenant);
    this.#owner.removed(epoch, count, cost);
  }

  /** Adds up what waits. Not before as many have come or gone, so it costs each of them one step. */
  #addUp(): void {
    let sum = 0;
    for (const segment of this.segments()) sum += costOf(segment);
    this.cost = sum;
    this.#highest = sum;
    this.#changes = 0;
  }

  #join(name: string): Tenant {
    const tenant = new Tenant(name, this, this.#shape, this.#priority);
    this.#tenants.set(name, tenant);
    if (this.current === null) {
      this.current = tenant;
      this.turnBegun = false;
      return tenant;
    }
    tenant.next = this.current;
    tenant.previous = this.current.previous;
    this.current.previous.next = tenant;
    this.current.previous = tenant;
    return tenant;
  }

  /** A tenant that has nothing waiting leaves the ring and its savings. */
  #leave(tenant: Tenant): void {
    this.#tenants.delete(tenant.name);
    this.#byAge.noteGone();
    if (this.current === tenant) {
      this.current = tenant.next === tenant ? null : tenant.next;
      this.turnBegun = false;
    }
    tenant.previous.next = tenant.next;
    tenant.next.previous = tenant.previous;
  }
}

/** The cost of the entries present, entry by entry. */
function costOf(segment: Segment): number {
  let sum = 0;
  for (let index = segment.head; index < segment.length; index += 1) {
    if (segment.sinks[index] !== null) sum += segment.costAt(index);
  }
  return sum;
}
