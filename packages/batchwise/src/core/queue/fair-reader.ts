// Reads ahead in the order of service (see fair-order.ts), and changes nothing. Each tenant of a
// round gives one entry before any of them gives another: a served tenant's start is later. So a
// batch of no more entries than the first round has tenants needs no search. After a round, a heap
// decides between the other rounds and the second entries of tenants.

import { Heap, HeapNode } from "../time/heap.ts";
import type { Entry } from "./entry.ts";
import type { Chunk, Reader } from "./entry-list.ts";
import type { Round, Tenant } from "./tenant.ts";

/** Comes after the rounds of the same start. */
const AFTER_ROUNDS = 2 ** 52;

export interface Charges {
  /** The charge of a tenant for an entry. */
  chargeOf(entry: Entry): number;
}

/** The entries of a tenant after the first. */
interface More {
  readonly reader: Reader;
  next: Entry;
}

export class FairReader implements Reader {
  readonly #charges: Charges;
  readonly #rounds: Heap<Round>;
  readonly #upTo: number;
  /** The next tenant of the current round. */
  #tenant: Tenant | null = null;
  /** Entries of the current round that were read. */
  #read: Entry[] = [];
  /** Rounds and tenants that may be next, by start. */
  readonly #candidates: Heap<HeapNode<Round> | More> = new Heap();
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
      const { value } = first;
      if (!(value instanceof HeapNode)) return this.#readMore(first as HeapNode<More>, value);
      this.#candidates.remove(first);
      this.#addRound(this.#rounds.below(value, 1));
      this.#addRound(this.#rounds.below(value, 2));
      this.#tenant = value.value.first;
    }
  }

  #addRound(place: HeapNode<Round> | undefined): void {
    if (place !== undefined) this.#candidates.add(new HeapNode(place), place.key, place.order);
  }

  /** Returns the first entry of the next tenant; undefined at the end of the round. */
  #readRound(): Entry | undefined {
    for (let tenant = this.#tenant; tenant !== null; tenant = tenant.next) {
      const first = this.#upTo === Infinity ? tenant.oldest : tenant.reader(this.#upTo).read();
      if (!first) continue;
      this.#tenant = tenant.next;
      this.#read.push(first);
      return first;
    }
    this.#tenant = null;
    for (const first of this.#read) this.#addMore(first);
    this.#read = [];
    return undefined;
  }

  #addMore(first: Entry): void {
    const tenant = (first.holder as Chunk).list as Tenant;
    const reader = tenant.reader(this.#upTo);
    reader.read();
    const next = reader.read();
    if (next === undefined) return;
    this.#turn += 1;
    this.#candidates.add(new HeapNode({ reader, next }), tenant.start + this.#charges.chargeOf(first), this.#turn);
  }

  #readMore(candidate: HeapNode<More>, more: More): Entry {
    const entry = more.next;
    const next = more.reader.read();
    if (next === undefined) {
      this.#candidates.remove(candidate);
    } else {
      more.next = next;
      this.#turn += 1;
      this.#candidates.move(candidate, candidate.key + this.#charges.chargeOf(entry), this.#turn);
    }
    return entry;
  }
}
