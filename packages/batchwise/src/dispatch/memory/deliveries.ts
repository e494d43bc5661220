// What waits to be delivered. Guarantees that taking costs by how many are taken or have become due since, not by how
// many wait: of a sink's, those that are due lie by cursor, the others by the time that they wait for.

import { LazyHeap } from "../../core/time/heap.ts";
import type { MemoryDelivery } from "./records.ts";

/** Where a delivery lies in a heap; void once it has been put somewhere else. */
interface Place {
  readonly delivery: MemoryDelivery;
  readonly at: number;
  readonly turn: number;
  heaped: boolean;
}

type Heap = LazyHeap<Place>;

export class Deliveries {
  /** Of each that waits, the turn in which it was last put. */
  readonly #turns = new Map<MemoryDelivery, number>();
  readonly #sinks = new Map<string, { readonly due: Heap; readonly later: Heap }>();
  readonly #all: Heap = this.#heap(({ at }) => at);
  #turn = 0;

  get size(): number {
    return this.#turns.size;
  }

  /** The earliest time that one of them waits for; Infinity where none waits. */
  get dueAt(): number {
    return this.#all.peek()?.at ?? Infinity;
  }

  /** Lets it wait for its `nextAt`, whatever it waited for before. */
  put(delivery: MemoryDelivery): void {
    this.remove(delivery);
    this.#turn += 1;
    this.#turns.set(delivery, this.#turn);
    const place = { delivery, at: delivery.nextAt, turn: this.#turn };
    this.#all.push({ ...place, heaped: false });
    this.#sink(delivery.sink).later.push({ ...place, heaped: false });
  }

  remove(delivery: MemoryDelivery): void {
    if (!this.#turns.delete(delivery)) return;
    this.#all.noteGone();
    this.#sink(delivery.sink).later.noteGone();
  }

  /** Those of these sinks that are due, oldest cursor first; they wait until `leaseUntil` then. */
  take(sinks: readonly string[], limit: number, now: number, leaseUntil: number): MemoryDelivery[] {
    const heaps = [...new Set(sinks)].sort().map((sink) => this.#due(sink, now));
    const taken: MemoryDelivery[] = [];
    while (taken.length < limit) {
      const first = oldest(heaps);
      if (first === undefined) break;
      const { delivery } = first.place;
      first.heap.shift();
      // A clock that went back: not due after all.
      if (first.place.at <= now) taken.push(delivery);
      else this.put(delivery);
    }
    for (const delivery of taken) {
      delivery.attempt += 1;
      delivery.nextAt = leaseUntil;
      this.put(delivery);
    }
    return taken;
  }

  /** A sink's due ones, after those whose time has come have been put among them. */
  #due(name: string, now: number): Heap {
    const { due, later } = this.#sink(name);
    for (let place = later.peek(); place !== undefined && place.at <= now; place = later.peek()) {
      later.shift();
      due.push(place);
    }
    return due;
  }

  #sink(name: string): { readonly due: Heap; readonly later: Heap } {
    const known = this.#sinks.get(name);
    if (known !== undefined) return known;
    const sink = { due: this.#heap(({ delivery }) => delivery.outcome.cursor), later: this.#heap(({ at }) => at) };
    this.#sinks.set(name, sink);
    return sink;
  }

  #heap(keyOf: (place: Place) => number): Heap {
    return new LazyHeap(keyOf, ({ delivery, turn }) => this.#turns.get(delivery) !== turn);
  }
}

/** Of equal cursors, the first sink's. */
function oldest(heaps: readonly Heap[]): { readonly heap: Heap; readonly place: Place } | undefined {
  let first: { readonly heap: Heap; readonly place: Place } | undefined;
  for (const heap of heaps) {
    const place = heap.peek();
    if (place === undefined) continue;
    if (first === undefined || place.delivery.outcome.cursor < first.place.delivery.outcome.cursor) {
      first = { heap, place };
    }
  }
  return first;
}
