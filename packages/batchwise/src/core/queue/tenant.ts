// Tenants of a fair line, and rounds of them (see fair-order.ts).
//
// A tenant's entries are linked through their facts. The garbage collector copies such lists side
// by side: the first entry of each tenant, then the second of each, which is the order of service.
// With an array for each tenant, a deep queue costs twice as much: each entry is in another page.

import { HeapNode } from "../time/heap.ts";
import type { Ends } from "../time/linked-list.ts";
import type { Entry } from "./entry.ts";
import { type EntryOwner, WaitingHolder } from "./entry-list.ts";

/** Holds a tenant's entries, by age. Linked to its neighbours in its round. */
export class Tenant extends WaitingHolder<Tenant> {
  readonly line: EntryOwner;
  first: Entry | null = null;
  #last: Entry | null = null;
  /** Null while it has no entries. */
  round: Round | null = null;
  /** Its virtual start. */
  start = 0;
  /** Its place among the waiting tenants by the age of its first entry. */
  readonly byAge: HeapNode<Tenant> = new HeapNode<Tenant>(this);

  constructor(line: EntryOwner) {
    super();
    this.line = line;
  }

  /** Adds an entry after all entries at least as old. Returns whether it is the first. */
  add(entry: Entry): boolean {
    let before = this.#last;
    while (before !== null && before.moment.at > entry.moment.at) before = before.facts.previous;
    const after = before === null ? this.first : before.facts.next;
    entry.holder = this;
    this.#join(before, entry);
    this.#join(entry, after);
    return before === null;
  }

  remove({ facts }: Entry): void {
    this.#join(facts.previous, facts.next);
    facts.previous = null;
    facts.next = null;
  }

  #join(before: Entry | null, after: Entry | null): void {
    if (before === null) this.first = after;
    else before.ownFacts.next = after;
    if (after === null) this.#last = before;
    else after.ownFacts.previous = before;
  }
}

/** Tenants with the same virtual start, in order. */
export class Round implements Ends<Tenant> {
  first: Tenant | null = null;
  last: Tenant | null = null;
  /** Its place among the rounds. The key is the start. */
  readonly place: HeapNode<Round> = new HeapNode<Round>(this);
}
