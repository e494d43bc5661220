// Start-time fair queueing (Goyal, Vin and Cheng, 1996): each tenant has a virtual start, and the
// smallest goes first. Serving an entry adds its cost to its tenant's start. So while two tenants
// both wait, their served costs differ by less than two largest items, and each tenant's own
// entries stay in order. A tenant that comes, or comes back, starts at the virtual time or at its
// own start, whichever is later: it has saved nothing, and its earlier service still counts.
//
// The virtual time grows by the served cost, divided by the number of waiting tenants. So tenants
// that keep coming do not starve those that are there. A free entry is charged the mean cost of
// recent entries, so that its tenant yields too.

import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry, EntryHolder } from "./entry.ts";
import { type EntryOrder, type EntryReader, Fifo } from "./fifo.ts";
import { MergedReader, type RankedLine } from "./merged-reader.ts";

/** Number of recent entries in the mean. */
const REMEMBERED = 1024;
/** Tenants without entries are kept up to this many, and as many as the others. */
const KEPT_IDLE = 8;

class Tenant implements RankedLine {
  readonly fifo: Fifo;
  readonly #order: FairOrder;
  /** Its places among the waiting tenants. The key of the first is its virtual start. */
  readonly byStart: HeapNode<Tenant> = new HeapNode<Tenant>(this);
  readonly byAge: HeapNode<Tenant> = new HeapNode<Tenant>(this);

  constructor(order: FairOrder, holder: EntryHolder) {
    this.#order = order;
    this.fifo = new Fifo(holder);
  }

  reader(lastSequence: number): EntryReader {
    return this.fifo.reader(lastSequence);
  }

  rankOf(_next: Entry | null, gone: Entry | null, rank: number): number {
    return gone === null ? rank : rank + this.#order.chargeOf(gone);
  }

  tieOf(): number {
    return this.#order.nextTurn();
  }

  taken(rank: number, tie: number): void {
    this.#order.served(this, rank, tie);
  }
}

export class FairOrder implements EntryOrder {
  readonly #holder: EntryHolder;
  /** Waiting tenants, and those whose start still counts. */
  readonly #tenants: Map<string, Tenant> = new Map();
  readonly #byStart: Heap<Tenant> = new Heap();
  readonly #byAge: Heap<Tenant> = new Heap();
  #size = 0;
  /** Recent entries: their count and total cost. */
  #count = 0;
  #cost = 0;
  #virtualTime = 0;
  /** Order among equal starts: the tenant that was served or came longest ago goes first. */
  #turns = 0;
  #pruneAt = KEPT_IDLE;

  constructor(holder: EntryHolder) {
    this.#holder = holder;
  }

  get size(): number {
    return this.#size;
  }

  get oldest(): Entry | null {
    return this.#byAge.first?.value.fifo.oldest ?? null;
  }

  push(entry: Entry): boolean {
    if (this.#count === REMEMBERED) {
      this.#count /= 2;
      this.#cost /= 2;
    }
    this.#size += 1;
    this.#count += 1;
    this.#cost += entry.cost;
    const tenant = this.#tenants.get(entry.tenant) ?? this.#add(entry.tenant);
    tenant.fifo.push(entry);
    if (tenant.byStart.index === -1) {
      this.#byStart.add(tenant.byStart, Math.max(tenant.byStart.key, this.#now()), this.nextTurn());
    }
    this.#byAge.put(tenant.byAge, (tenant.fifo.oldest as Entry).moment.at);
    return this.oldest === entry;
  }

  pushAll(entries: readonly Entry[], count: number): void {
    for (const entry of entries.slice(0, count)) this.push(entry);
  }

  left(entries: readonly Entry[], from: number, end: number): void {
    this.#size -= end - from;
    for (let index = from; index < end; index += 1) {
      const tenant = this.#tenants.get((entries[index] as Entry).tenant);
      // An earlier part of the batch, whose reader has read the rest too, may have dropped all
      // tenants.
      if (tenant === undefined) continue;
      const { fifo, byStart, byAge } = tenant;
      fifo.left(entries, index, index + 1);
      // The tenant may have left with its first entry in this range.
      if (byStart.index === -1) continue;
      const { oldest } = fifo;
      if (oldest !== null) {
        this.#byAge.move(byAge, oldest.moment.at);
        continue;
      }
      this.#byStart.remove(byStart);
      this.#byAge.remove(byAge);
    }
    if (this.#byStart.size > 0) return;
    this.#tenants.clear();
    this.#pruneAt = KEPT_IDLE;
    this.#count = 0;
    this.#cost = 0;
    this.#virtualTime = 0;
  }

  /** Charges the tenant of an entry that is taken out of order. */
  charge(entry: Entry): void {
    const tenant = this.#tenants.get(entry.tenant);
    if (tenant !== undefined) this.served(tenant, tenant.byStart.key + this.chargeOf(entry), this.nextTurn());
  }

  reader(lastSequence: number): EntryReader {
    return new MergedReader(this.#byStart, lastSequence);
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

  /** Advances the start of a waiting tenant whose entries are taken. */
  served({ byStart }: Tenant, start: number, turn: number): void {
    const cost = start - byStart.key;
    if (cost > 0) this.#virtualTime += cost / this.#byStart.size;
    this.#byStart.move(byStart, start, turn);
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
    const tenant = new Tenant(this, this.#holder);
    this.#tenants.set(name, tenant);
    return tenant;
  }
}
