// Deficit round robin (Shreedhar and Varghese, 1995): tenants take turns, and in its turn a tenant may spend what it
// has saved plus one quantum of cost. Each tenant's own entries stay in order. Over any stretch in which two tenants
// both wait, the costs they are served differ by less than one quantum plus one largest item.
//
// The quantum is the mean cost of what waits, so a turn serves one entry on average and the work per entry is O(1).
// An entry that costs nothing is charged one quantum, or its tenant would never yield.

import type { FifoOwner, SegmentShape } from "../fifo.ts";
import type { Sink } from "../recipient.ts";
import type { Segment } from "../segment.ts";
import { Arrivals, type ArrivalsOwner } from "./arrivals.ts";
import { Tenant } from "./tenant.ts";

/** A sum that has fallen to this share of its highest has lost too many digits to go on with. */
const LEAST_SHARE = 2 ** -20;

/** The tenants of one line, in a ring of those who wait. */
export class FairRing implements ArrivalsOwner {
  readonly #owner: FifoOwner;
  readonly #tenants: Map<string, Tenant> = new Map();
  readonly arrivals: Arrivals;
  /** The sum of what waits, as exact as floating point is when added up anew. */
  cost = 0;
  /** The highest that the sum was since it was added up, and the entries that have come or gone since. */
  #highest = 0;
  #changes = 0;
  /** Whose turn it is, and whether its quantum has been granted. */
  current: Tenant | null = null;
  turnBegun = false;
  /** Numbers the cursors. A number in place of the cursor itself spares the collector a reference a visit. */
  cursors = 0;

  constructor(owner: FifoOwner, shape: SegmentShape, priority: number) {
    this.#owner = owner;
    this.arrivals = new Arrivals(this, shape, priority);
  }

  get quantum(): number {
    const mean = Math.min(this.cost / this.arrivals.fifo.size, Number.MAX_VALUE);
    return mean > 0 ? mean : 1;
  }

  push(name: string, item: unknown, sink: Sink, time: number, cost: number): Segment {
    const tenant = this.#tenants.get(name) ?? this.#join(name);
    this.cost += cost;
    if (this.cost > this.#highest) this.#highest = this.cost;
    this.#changes += 1;
    return this.arrivals.push(tenant, item, sink, time, cost);
  }

  removed(segment: Segment, count: number, cost: number, from: number, end: number): void {
    this.cost -= cost;
    this.#changes += count;
    if (this.cost <= this.#highest * LEAST_SHARE && this.#changes >= this.arrivals.fifo.size) this.#addUp();
    this.#owner.removed(segment, count, cost, from, end);
  }

  /** Adds up what waits. Not before as many have come or gone, so it costs each of them one step. */
  #addUp(): void {
    let sum = 0;
    for (const segment of this.arrivals.fifo.segments()) sum += costOf(segment);
    this.cost = sum;
    this.#highest = sum;
    this.#changes = 0;
  }

  #join(name: string): Tenant {
    const tenant = new Tenant(name);
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
  emptied(tenant: Tenant): void {
    this.#tenants.delete(tenant.name);
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
