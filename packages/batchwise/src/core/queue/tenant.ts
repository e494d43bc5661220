// Tenants of a fair line, and rounds of them (see fair-order.ts).

import { HeapNode } from "../time/heap.ts";
import type { Ends, Linked } from "../time/linked-list.ts";
import { EntryList, type EntryOwner } from "./entry-list.ts";

export class Tenant extends EntryList implements Linked<Tenant> {
  readonly line: EntryOwner;
  /** Its neighbours in its round. */
  previous: Tenant | null = null;
  next: Tenant | null = null;
  /** Null while it has no entries. */
  round: Round | null = null;
  /** Its virtual start. */
  start = 0;
  /** Its place among the waiting tenants by the age of its oldest entry. */
  readonly byAge: HeapNode<Tenant> = new HeapNode<Tenant>(this);

  constructor(line: EntryOwner) {
    super();
    this.line = line;
  }
}

/** Tenants with the same virtual start, in order. */
export class Round implements Ends<Tenant> {
  first: Tenant | null = null;
  last: Tenant | null = null;
  /** Its place among the rounds. The key is the start. */
  readonly place: HeapNode<Round> = new HeapNode<Round>(this);
}
