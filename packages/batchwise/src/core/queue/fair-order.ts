// Start-time fair queueing (Goyal, Vin and Cheng, 1996): each tenant has a virtual start, and the
// smallest goes first. Serving an entry adds its cost to its tenant's start. So while two tenants
// both wait, their served costs differ by less than two largest items, and each tenant's own
// entries stay in order. A tenant that comes, or comes back, starts at the later of the virtual
// time and its own start: it has saved nothing, and its earlier service still counts.
//
// The virtual time grows by the served cost, divided by the number of waiting tenants. So tenants
// that keep coming do not starve tenants that wait. A free entry is charged the mean cost of recent
// entries, so that its tenant yields too.

import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry } from "./entry.ts";
import { type Chunk, EntryList, type EntryOrder, type EntryOwner, type Reader } from "./entry-list.ts";
import { Merged, type Source } from "./merged.ts";

/** Number of recent entries in the mean. */
const REMEMBERED = 1024;
/** Tenants without entries are kept up to this many, and as many as the others. */
const KEPT_IDLE = 8;

class Tenant extends EntryList implements Source {
  readonly line: EntryOwner;
  readonly #order: FairOrder;
  /** Its places among the waiting tenants. The key of the first is its virtual start. */
  readonly byStart: HeapNode<Tenant> = new HeapNode<Tenant>(this);
  readonly byAge: HeapNode<Tenant> = new HeapNode<Tenant>(this);

  constructor(order: FairOrder, line: EntryOwner) {
    super();
    this.line = line;
    this.#order = order;
  }

  nextRank(_next: Entry, gone: Entry | null, rank: number): number {
    return gone === null ? rank : rank + this.#order.chargeOf(gone);
  }

  tieOf(): number {
    return this.#order.nextTurn();
  }
}

export class FairOrder implements EntryOrder {
  readonly #line: EntryOwner;
  /** Waiting tenants, and those whose start still counts. */
  readonly #tenants: Map<string, Tenant> = new Map();
  readonly #byStart: Heap<Tenant> = new Heap();
  readonly #byAge: Heap<Tenant> = new Heap();
  /** Recent entries: their count and total cost. */
  #count = 0;
  #cost = 0;
  #virtualTime = 0;
  /** Order among equal starts: the tenant that was served or came longest ago goes first. */
  #turns = 0;
  #pruneAt = KEPT_IDLE;

  constructor(line: EntryOwner) {
    this.#line = line;
  }

  get oldest(): Entry | null {
    return this.#byAge.first?.value.oldest ?? null;
  }

  add(entry: Entry): boolean {
    if (this.#count === REMEMBERED) {
      this.#count /= 2;
      this.#cost /= 2;
    }
    this.#count += 1;
    this.#cost += entry.cost;
    const tenant = this.#tenants.get(entry.tenant) ?? this.#add(entry.tenant);
    if (!tenant.add(entry)) return false;
    if (tenant.byStart.index === -1) {
      this.#byStart.add(tenant.byStart, Math.max(tenant.byStart.key, this.#now()), this.nextTurn());
    }
    this.#byAge.put(tenant.byAge, entry.moment.at);
    return this.oldest === entry;
  }

  remove(entries: readonly Entry[], from: number, end: number, isServed: boolean): void {
    const { size } = this.#byStart;
    for (let index = from; index < end; index += 1) {
      const entry = entries[index] as Entry;
      const tenant = (entry.holder as Chunk).list as Tenant;
      const { byStart, byAge } = tenant;
      if (isServed) {
        const charge = this.chargeOf(entry);
        this.#virtualTime += charge / size;
        this.#byStart.move(byStart, byStart.key + charge, this.nextTurn());
      }
      tenant.remove(entries, index, index + 1);
      const { oldest } = tenant;
      if (oldest !== null) {
        this.#byAge.move(byAge, oldest.moment.at);
      } else {
        this.#byStart.remove(byStart);
        this.#byAge.remove(byAge);
      }
    }
    if (this.#byStart.size > 0) return;
    this.#tenants.clear();
    this.#pruneAt = KEPT_IDLE;
    this.#count = 0;
    this.#cost = 0;
    this.#virtualTime = 0;
  }

  reader(upTo: number): Reader {
    return new Merged(this.#byStart, upTo);
  }

  /** The charge of a tenant for an entry. */
  chargeOf({ cost }: Entry): number {
    if (cost > 0) return cost;
    const mean = Math.min(this.#cost / this.#count, Number.MAX_VALUE);
    return mean > 0 ? mean : 1;
  }

  nextTurn(): number {
    this.#turns += 1;
    return this.#turns;
  }

  /** The virtual time, never behind the smallest start. */
  #now(): number {
    this.#virtualTime = Math.max(this.#virtualTime, this.#byStart.first?.key ?? 0);
    return this.#virtualTime;
  }

  #add(name: string): Tenant {
    if (this.#tenants.size >= this.#pruneAt) {
      const now = this.#now();
      for (const [idle, { byStart }] of this.#tenants) {
        if (byStart.index === -1 && byStart.key <= now) this.#tenants.delete(idle);
      }
      this.#pruneAt = 2 * this.#tenants.size + KEPT_IDLE;
    }
    const tenant = new Tenant(this, this.#line);
    this.#tenants.set(name, tenant);
    return tenant;
  }
}
