// Deficit round robin (Shreedhar and Varghese, 1995): tenants take rounds; in its round a tenant
// may spend its savings plus one quantum of cost. Each tenant's own entries stay in order. While
// two tenants both wait, their served costs differ by less than one quantum plus one largest item.
//
// The quantum is the mean cost of recent entries, so a round serves one entry on average and the
// work per entry is O(1). A free entry is charged one quantum, so that its tenant yields too.

import { Heap } from "../../time/heap.ts";
import type { Entry, EntryHolder } from "../entry.ts";
import type { EntryOrder, EntryReader } from "../fifo.ts";
import { FairReader } from "./fair-reader.ts";
import { chargeOf, Tenant } from "./tenant.ts";

const NOTHING: EntryReader = { entry: null, ahead: () => [], advance: () => {}, commit: () => {} };

/** Number of recent entries in the mean. */
const REMEMBERED = 1024;

export class FairOrder implements EntryOrder {
  readonly #holder: EntryHolder;
  readonly #tenants: Map<string, Tenant> = new Map();
  /** Tenants by the age of their oldest entries. */
  readonly #byAge: Heap<Tenant> = new Heap();
  #size = 0;
  /** Number and total cost of recent entries. */
  #count = 0;
  #cost = 0;
  /** The tenant of the current round, and whether its quantum is granted. */
  current: Tenant | null = null;
  isGranted = false;

  constructor(holder: EntryHolder) {
    this.#holder = holder;
  }

  get quantum(): number {
    const mean = Math.min(this.#cost / this.#count, Number.MAX_VALUE);
    return mean > 0 ? mean : 1;
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
    const tenant = this.#tenants.get(entry.tenant) ?? this.#join(entry.tenant);
    tenant.fifo.push(entry);
    const { at } = (tenant.fifo.oldest as Entry).moment;
    if (tenant.node.index === -1) this.#byAge.add(tenant.node, at);
    else this.#byAge.move(tenant.node, at);
    return this.oldest === entry;
  }

  pushAll(entries: readonly Entry[], count: number): void {
    for (const entry of entries.slice(0, count)) this.push(entry);
  }

  left(entries: readonly Entry[], from: number, end: number): void {
    this.#size -= end - from;
    for (let index = from; index < end; index += 1) {
      const tenant = this.#tenants.get((entries[index] as Entry).tenant);
      // The tenant left with its first entry in this range.
      if (tenant === undefined) continue;
      tenant.fifo.left(entries, index, index + 1);
      const { oldest } = tenant.fifo;
      if (oldest === null) this.#leave(tenant);
      else this.#byAge.move(tenant.node, oldest.moment.at);
    }
    if (this.current !== null) return;
    this.#count = 0;
    this.#cost = 0;
  }

  /** Charges the entry's tenant, which pays in its next rounds. */
  charge(entry: Entry): void {
    const tenant = this.#tenants.get(entry.tenant);
    if (tenant !== undefined) tenant.deficit -= chargeOf(entry, this.quantum);
  }

  reader(lastSequence: number): EntryReader {
    return this.current === null ? NOTHING : new FairReader(this, this.current, lastSequence);
  }

  /** Adds a tenant at the end of the current round. */
  #join(name: string): Tenant {
    const tenant = new Tenant(name, this.#holder);
    this.#tenants.set(name, tenant);
    if (this.current === null) {
      this.current = tenant;
      this.isGranted = false;
      return tenant;
    }
    tenant.next = this.current;
    tenant.previous = this.current.previous;
    this.current.previous.next = tenant;
    this.current.previous = tenant;
    return tenant;
  }

  /** Removes a tenant without waiting entries, with its savings. */
  #leave(tenant: Tenant): void {
    this.#tenants.delete(tenant.name);
    this.#byAge.remove(tenant.node);
    if (this.current === tenant) {
      this.current = tenant.next === tenant ? null : tenant.next;
      this.isGranted = false;
    }
    tenant.previous.next = tenant.next;
    tenant.next.previous = tenant.previous;
  }
}
