// Reads ahead in the order of service (see fair-order.ts), and changes nothing. Each tenant of a
// round gives one entry before any of them gives another: a served tenant's start is later. So a
// batch of no more entries than the first round has tenants needs no search. After a round, a heap
// decides between the other rounds and the second entries of tenants.

import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry } from "./entry.ts";
import type { Reader } from "./entry-list.ts";
import type { Round, Tenant } from "./tenant.ts";

/** Comes after the rounds of the same start. */
const AFTER_ROUNDS = 2 ** 52;

export interface Charges {
  /** The charge of a tenant for an entry. */
  chargeOf(entry: Entry): number;
}

export class FairReader implements Reader {
  readonly #charges: Charges;
  readonly #rounds: Heap<Round>;
  readonly #upTo: number;
  /** The start of the current round, and its next tenant. */
  #start = 0;
  #tenant: Tenant | null = null;
  /** Entries of the current round that were read. */
  #read: Entry[] = [];
  /** Rounds, and later entries of tenants, that may be next. */
  readonly #candidates: Heap<HeapNode<Round> | Entry> = new Heap();
  #turn = AFTER_ROUNDS;

  /** Reads entries of moments up to this sequence. */
  constructor(charges: Charges, rounds: Heap<Round>, upTo: number) {
    this.#charges = charges;
    this.#rounds = rounds;
    this.#upTo = upTo;
    this.#addRound(rounds.first);
  }

  read(): Entry | undefined {
    for (;;) {
      const entry = this.#readRound();
      if (entry !== undefined) return entry;
      const { first } = this.#candidates;
      if (first === undefined) return undefined;
      const { value, key } = first;
      this.#candidates.remove(first);
      if (!(value instanceof HeapNode)) {
        this.#addAfter(value, key);
        return value;
      }
      this.#addRound(this.#rounds.below(value, 1));
      this.#addRound(this.#rounds.below(value, 2));
      this.#start = key;
      this.#tenant = value.value.first;
    }
  }

  #addRound(place: HeapNode<Round> | undefined): void {
    if (place !== undefined) this.#candidates.add(new HeapNode(place), place.key, place.order);
  }

  /** Returns the first entry of the next tenant; undefined at the end of the round. */
  #readRound(): Entry | undefined {
    while (this.#tenant !== null) {
      const first = this.#from(this.#tenant.first);
      this.#tenant = this.#tenant.next;
      if (first === null) continue;
      this.#read.push(first);
      return first;
    }
    for (const first of this.#read) this.#addAfter(first, this.#start);
    this.#read = [];
    return undefined;
  }

  /** Adds the entry of a tenant after one that was read at this start. */
  #addAfter(entry: Entry, start: number): void {
    const next = this.#from(entry.facts.next);
    if (next === null) return;
    this.#turn += 1;
    this.#candidates.add(new HeapNode(next), start + this.#charges.chargeOf(entry), this.#turn);
  }

  /** The first entry of its tenant, from this one on, that may be read. */
  #from(from: Entry | null): Entry | null {
    let entry = from;
    while (entry !== null && entry.moment.sequence > this.#upTo) entry = entry.facts.next;
    return entry;
  }
}
