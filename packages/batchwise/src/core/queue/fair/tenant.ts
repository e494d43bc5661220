// One tenant of a line: its entries, its savings, and its neighbours in the ring of waiting
// tenants.

import { HeapNode } from "../../time/heap.ts";
import type { Entry, EntryHolder } from "../entry.ts";
import { Fifo } from "../fifo.ts";

export class Tenant {
  readonly name: string;
  readonly fifo: Fifo;
  /** Its place among the tenants by age. */
  readonly node: HeapNode<Tenant> = new HeapNode<Tenant>(this);
  deficit = 0;
  previous: Tenant = this;
  next: Tenant = this;

  constructor(name: string, holder: EntryHolder) {
    this.name = name;
    this.fifo = new Fifo(holder);
  }
}

/** The charge of a tenant for an entry. */
export function chargeOf({ cost }: Entry, quantum: number): number {
  return cost > 0 ? cost : quantum;
}
