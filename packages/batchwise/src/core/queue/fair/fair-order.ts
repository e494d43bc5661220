// Tenants that share a line by self-clocked fair queueing (Golestani, 1994). An entry has a finish: its cost behind the
// finish of its tenant's entry before it, or behind the present time where its tenant comes anew. The smallest finish goes
// first, and the present time is the finish of what was served last. Each tenant's own entries stay in order. Over any
// stretch in which two tenants both wait, the costs that they are served differ by less than one largest item of each.
//
// An entry that costs nothing is charged the mean cost of what came lately, or its tenant would never yield.

import { Heap } from "../../time/heap.ts";
import type { Entry, EntryHolder } from "../entry.ts";
import { type EntryOrder, type EntryReader, Fifo } from "../fifo.ts";
import { MergedReader } from "../merged-reader.ts";
import { type Account, Tenant } from "./tenant.ts";

/** The mean is that of about so many entries. */
const REMEMBERED = 1024;

export class FairOrder implements EntryOrder, Account {
  readonly #holder: EntryHolder;
  readonly #tenants: Map<string, Tenant> = new Map();
  readonly #byFinish: Heap<Tenant> = new Heap();
  readonly #byAge: Heap<Tenant> = new Heap();
  #turns = 0;
  size = 0;
  /** What came lately: how many entries, and what they cost together. */
  #count = 0;
  #cost = 0;
  now = 0;

  constructor(holder: EntryHolder) {
    this.#holder = holder;
  }

  chargeOf({ cost }: Entry): number {
    if (cost > 0) return cost;
    const mean = Math.min(this.#cost / this.#count, Number.MAX_VALUE);
    return mean > 0 ? mean : 1;
  }

  turn(): number {
    this.#turns += 1;
    return this.#turns;
  }

  get oldest(): Entry | null {
    return this.#byAge.first?.value.fifo.oldest ?? null;
  }

  push(entry: Entry): boolean {
    if (this.#count === REMEMBERED) {
      this.#count /= 2;
      this.#cost /= 2;
    }
    this.size += 1;
    this.#count += 1;
    this.#cost += entry.cost;
    let tenant = this.#tenants.get(entry.tenant);
    if (tenant === undefined) {
      tenant = new Tenant(entry.tenant, this, new Fifo(this.#holder));
      this.#tenants.set(entry.tenant, tenant);
      tenant.byFinish.tie = this.turn();
    }
    if (tenant.fifo.push(entry)) this.#place(tenant, entry);
    return this.oldest === entry;
  }

  pushAll(entries: readonly Entry[], count: number): void {
    for (const entry of entries.slice(0, count)) this.push(entry);
  }

  left(entries: readonly Entry[], from: number, end: number): void {
    this.size -= end - from;
    for (let index = from; index < end; index += 1) {
      const tenant = this.#tenants.get((entries[index] as Entry).tenant);
      // It has left with the first of its entries.
      if (tenant === undefined) continue;
      tenant.fifo.left(entries, index, index + 1);
      const { oldest } = tenant.fifo;
      if (oldest === null) this.#leave(tenant);
      else this.#place(tenant, oldest);
    }
    if (this.#tenants.size > 0) return;
    this.now = 0;
    this.#count = 0;
    this.#cost = 0;
  }

  charge(entry: Entry): void {
    this.#tenants.get(entry.tenant)?.charge(entry);
  }

  reader(lastSequence: number): EntryReader {
    return new MergedReader(this.#byFinish, lastSequence);
  }

  served({ byFinish }: Tenant, finish: number, tie: number): void {
    this.now = Math.max(this.now, finish);
    this.#byFinish.move(byFinish, byFinish.key, tie);
  }

  #place(tenant: Tenant, oldest: Entry): void {
    const { byFinish, byAge } = tenant;
    this.#byFinish.put(byFinish, tenant.finishOf(oldest), byFinish.tie);
    this.#byAge.put(byAge, oldest.moment.at);
  }

  /** A tenant in whose line nothing waits is forgotten. */
  #leave({ name, byFinish, byAge }: Tenant): void {
    this.#tenants.delete(name);
    this.#byFinish.remove(byFinish);
    this.#byAge.remove(byAge);
  }
}
