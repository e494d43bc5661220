// Tenants of a fair line, and rounds of them (see fair-line.ts).
//
// A tenant's entries are linked through their facts. The garbage collector copies such lists side
// by side: the first entry of each tenant, then the second of each, which is the order of service.
// With an array for each tenant, a deep queue costs twice as much: each entry is in another page.

import { HeapNode } from "../time/heap.ts";
import type { Ends } from "../time/linked-list.ts";
import { WaitingHolder } from "./chunk.ts";
import type { Entry } from "./entry.ts";

/** Marks of a tenant's entries are about this far apart. */
const APART = 128;

/** Holds a tenant's entries, by age. Linked to its neighbours in its round. */
export class Tenant extends WaitingHolder<Tenant> {
  first: Entry | null = null;
  #last: Entry | null = null;
  /**
   * Some of its entries, by age, to insert older ones near their place: those that raises bring.
   * Some may have left.
   */
  #marks: readonly Entry[] = [];
  /** Null while it has no entries. */
  round: Round | null = null;
  /** Its virtual start. */
  start = 0;
  /** Its place among the waiting tenants by the age of its first entry. */
  readonly byAge: HeapNode<Tenant> = new HeapNode<Tenant>(this);

  /** Adds an entry after all entries at least as old. Returns whether it is the first. */
  add(entry: Entry): boolean {
    const before = this.#before(entry.moment.at);
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
    if (this.first === null) this.#marks = [];
  }

  /** The youngest entry that is at least as old. */
  #before(at: number): Entry | null {
    const isYounger = ({ moment }: Entry): boolean => moment.at > at;
    let before = this.#last;
    if (before === null || !isYounger(before)) return before;
    before = this.#marks.find((mark) => isYounger(mark) && mark.holder === this) ?? before;
    let steps = 0;
    for (; before !== null && isYounger(before); before = before.facts.previous) steps += 1;
    if (steps > 2 * APART) this.#mark();
    return before;
  }

  #mark(): void {
    const marks: Entry[] = [];
    let count = 0;
    for (let entry = this.first; entry !== null; entry = entry.facts.next) {
      if (count % APART === 0) marks.push(entry);
      count += 1;
    }
    this.#marks = marks;
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
