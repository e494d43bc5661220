// Reads ahead in the order of service (see fair-line.ts), and changes nothing. Each tenant of a
// round gives one entry before any of them gives another: a served tenant's start is later. After
// a round, a heap decides between the other rounds and the next entries of served tenants.

import { Heap, HeapNode } from "../time/heap.ts";
import type { Reader } from "./chunk.ts";
import type { Entry } from "./entry.ts";
import type { FairLine } from "./fair-line.ts";
import type { Round, Tenant } from "./tenant.ts";

export class FairReader implements Reader {
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
