// Start-time fair queueing (Goyal, Vin and Cheng, 1996): each tenant has a virtual start, and the
// smallest goes first. Serving an entry adds its cost to its tenant's start. So while two tenants
// both wait, their served costs differ by less than two largest items, and each tenant's own
// entries stay in order. A tenant that comes, or comes back, starts at the later of the virtual
// time and its own start: it has saved nothing, and its earlier service still counts.
//
// The virtual time grows by the served cost, divided by the number of waiting tenants. So tenants
// that keep coming do not starve tenants that wait. A free entry is charged the mean cost of recent
// entries, so that its tenant yields too.
//
// Tenants with the same start form a round, in order. While all items cost the same, a served
// tenant joins the newest round, so its new place needs no search. Otherwise a heap finds it.

import { Heap, HeapNode } from "../time/heap.ts";
import { link, unlink } from "../time/linked-list.ts";
import type { Reader } from "./chunk.ts";
import type { Entry } from "./entry.ts";
import { Line } from "./lane.ts";
import { Round, Tenant } from "./tenant.ts";

/** Number of recent entries in the mean. */
const REMEMBERED = 1024;
/** Tenants without entries are kept up to this many, and as many as the others. */
const KEPT_IDLE = 8;

export class FairLine extends Line {
  /** Waiting tenants, and those whose start still counts. */
  readonly #tenants: Map<string, Tenant> = new Map();
  /** Of rounds with the same start, the older goes first. None is empty. */
  readonly #rounds: Heap<Round> = new Heap();
  /** The newest round: the only one that tenants join. */
  #newest: Round = new Round();
  readonly #byAge: Heap<Tenant> = new Heap();
  /** Recent entries: their count and total cost. */
  #count = 0;
  #cost = 0;
  #virtualTime = 0;
  #pruneAt = KEPT_IDLE;

  override get oldest(): Entry | null {
    return this.#byAge.first?.value.first ?? null;
  }

  protected override insert(entry: Entry): boolean {
    if (this.#count === REMEMBERED) {
      this.#count /= 2;
      this.#cost /= 2;
    }
    this.#count += 1;
    this.#cost += entry.cost;
    const tenant = this.#tenants.get(entry.tenant) ?? this.#add(entry.tenant);
    if (!tenant.add(entry)) return false;
    if (tenant.round === null) this.#join(tenant, Math.max(tenant.start, this.#now()));
    this.#byAge.put(tenant.byAge, entry.moment.at);
    return this.oldest === entry;
  }

  protected override drop(entries: readonly Entry[], from: number, end: number, isServed: boolean): void {
    const { size } = this.#byAge;
    for (let index = from; index < end; index += 1) {
      const entry = entries[index] as Entry;
      const tenant = entry.holder as Tenant;
      if (isServed) {
        const charge = this.chargeOf(entry);
        this.#virtualTime += charge / size;
        this.#leave(tenant);
        this.#join(tenant, tenant.start + charge);
      }
      tenant.remove(entry);
      const { first } = tenant;
      if (first !== null) {
        this.#byAge.put(tenant.byAge, first.moment.at);
      } else {
        this.#leave(tenant);
        this.#byAge.remove(tenant.byAge);
      }
    }
    if (this.#byAge.size > 0) return;
    this.#tenants.clear();
    this.#pruneAt = KEPT_IDLE;
    this.#count = 0;
    this.#cost = 0;
    this.#virtualTime = 0;
  }

  override reader(upTo: number): Reader {
    return new FairReader(this, this.#rounds, upTo);
  }

  /** The charge of a tenant for an entry. */
  chargeOf({ cost }: Entry): number {
    if (cost > 0) return cost;
    const mean = Math.min(this.#cost / this.#count, Number.MAX_VALUE);
    return mean > 0 ? mean : 1;
  }

  /** The virtual time, never behind the smallest start. */
  #now(): number {
    this.#virtualTime = Math.max(this.#virtualTime, this.#rounds.first?.key ?? 0);
    return this.#virtualTime;
  }

  /** Puts a tenant behind all of the same start. */
  #join(tenant: Tenant, start: number): void {
    const { place } = this.#newest;
    if (place.index === -1 || place.key !== start) {
      this.#newest = new Round();
      this.#rounds.put(this.#newest.place, start);
    }
    tenant.start = start;
    tenant.round = this.#newest;
    link(tenant.round, tenant, tenant.round.last);
  }

  #leave(tenant: Tenant): void {
    const round = tenant.round as Round;
    unlink(round, tenant);
    if (round.first === null) this.#rounds.remove(round.place);
    tenant.round = null;
  }

  #add(name: string): Tenant {
    if (this.#tenants.size >= this.#pruneAt) {
      const now = this.#now();
      for (const [idle, { round, start }] of this.#tenants) {
        if (round === null && start <= now) this.#tenants.delete(idle);
      }
      this.#pruneAt = 2 * this.#tenants.size + KEPT_IDLE;
    }
    const tenant = new Tenant(this);
    this.#tenants.set(name, tenant);
    return tenant;
  }
}

/**
 * Reads ahead in the order of service, and changes nothing. Each tenant of a round gives one entry
 * before any of them gives another: a served tenant's start is later. After a round, a heap decides
 * between the other rounds and the next entries of served tenants.
 */
class FairReader implements Reader {
  readonly #line: FairLine;
  readonly #rounds: Heap<Round>;
  readonly #upTo: number;
  /** The next tenant of the current round. */
  #tenant: Tenant | null = null;
  /** What may be next, by start: rounds, and next entries of served tenants. */
  readonly #candidates: Heap<HeapNode<Round> | Entry> = new Heap();

  /** Reads entries of moments up to this sequence. */
  constructor(line: FairLine, rounds: Heap<Round>, upTo: number) {
    this.#line = line;
    this.#rounds = rounds;
    this.#upTo = upTo;
    this.#addRound(rounds.first);
  }

  read(): Entry | undefined {
    for (;;) {
      const tenant = this.#tenant;
      if (tenant !== null) {
        this.#tenant = tenant.next;
        const entry = this.#from(tenant.first);
        if (entry !== null) return this.#serve(entry, tenant.start);
        continue;
      }
      const { first } = this.#candidates;
      if (first === undefined) return undefined;
      const { value, key } = first;
      this.#candidates.remove(first);
      if (!(value instanceof HeapNode)) return this.#serve(value, key);
      this.#addRound(this.#rounds.below(value, 1));
      this.#addRound(this.#rounds.below(value, 2));
      this.#tenant = value.value.first;
    }
  }

  #addRound(place: HeapNode<Round> | undefined): void {
    if (place !== undefined) this.#candidates.put(new HeapNode(place), place.key, place.order);
  }

  /** Adds the tenant's next entry, after all others of the same start. Returns this one. */
  #serve(entry: Entry, start: number): Entry {
    const next = this.#from(entry.facts.next);
    if (next !== null) this.#candidates.put(new HeapNode(next), start + this.#line.chargeOf(entry), Infinity);
    return entry;
  }

  /** The first entry of its tenant, from this one on, that may be read. */
  #from(from: Entry | null): Entry | null {
    if (this.#upTo === Infinity) return from;
    let entry = from;
    while (entry !== null && entry.moment.sequence > this.#upTo) entry = entry.facts.next;
    return entry;
  }
}
