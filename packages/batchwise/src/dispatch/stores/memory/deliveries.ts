// Waiting deliveries. The cost of taking depends on how many are taken or have become due since,
// not on how many wait: due ones of a sink are sorted by cursor, the others by due time.

import { Heap, HeapNode } from "../../../core/time/heap.ts";
import type { MemoryDelivery } from "./records.ts";

/** The deliveries of one sink. */
interface Sink {
  readonly due: Heap<MemoryDelivery>;
  readonly later: Heap<MemoryDelivery>;
}

/** Positions of one delivery: among all by time, and in one of the heaps of its sink. */
interface Place {
  readonly inAll: HeapNode<MemoryDelivery>;
  readonly inSink: HeapNode<MemoryDelivery>;
  heap: Heap<MemoryDelivery>;
}

export class Deliveries {
  readonly #places = new Map<MemoryDelivery, Place>();
  readonly #sinks = new Map<string, Sink>();
  readonly #all = new Heap<MemoryDelivery>();

  get size(): number {
    return this.#places.size;
  }

  /** The earliest due time; Infinity if none waits. */
  get dueAt(): number {
    return this.#all.first?.key ?? Infinity;
  }

  /** Schedules a delivery for its `nextAt`, in place of an earlier time. */
  put(delivery: MemoryDelivery): void {
    this.remove(delivery);
    const { later } = this.#sink(delivery.sink);
    const place = { inAll: new HeapNode(delivery), inSink: new HeapNode(delivery), heap: later };
    this.#places.set(delivery, place);
    this.#all.put(place.inAll, delivery.nextAt);
    later.put(place.inSink, delivery.nextAt);
  }

  remove(delivery: MemoryDelivery): void {
    const place = this.#places.get(delivery);
    if (place === undefined) return;
    this.#places.delete(delivery);
    this.#all.remove(place.inAll);
    place.heap.remove(place.inSink);
  }

  /** Takes the due ones of these sinks, oldest cursor first. They then wait until `leaseUntil`. */
  take(sinks: readonly string[], limit: number, now: number, leaseUntil: number): MemoryDelivery[] {
    const heaps = [...new Set(sinks)].sort().map((sink) => this.#due(sink, now));
    const taken: MemoryDelivery[] = [];
    while (taken.length < limit) {
      const delivery = oldest(heaps);
      if (delivery === undefined) break;
      // The clock was set back, so the delivery is not due.
      if (delivery.nextAt > now) this.put(delivery);
      else {
        this.remove(delivery);
        taken.push(delivery);
      }
    }
    for (const delivery of taken) {
      delivery.attempt += 1;
      delivery.nextAt = leaseUntil;
      this.put(delivery);
    }
    return taken;
  }

  /** Makes deliveries due whose time is later than `after`. */
  hasten(after: number, now: number): void {
    for (const delivery of [...this.#places.keys()].filter(({ nextAt }) => nextAt > after)) {
      delivery.nextAt = now;
      this.put(delivery);
    }
  }

  /** A sink's due deliveries. First moves the ones that have become due. */
  #due(name: string, now: number): Heap<MemoryDelivery> {
    const { due, later } = this.#sink(name);
    for (let { first } = later; first !== undefined && first.key <= now; { first } = later) {
      later.remove(first);
      due.put(first, first.value.outcome.cursor);
      (this.#places.get(first.value) as Place).heap = due;
    }
    return due;
  }

  #sink(name: string): Sink {
    const known = this.#sinks.get(name);
    if (known !== undefined) return known;
    const sink = { due: new Heap<MemoryDelivery>(), later: new Heap<MemoryDelivery>() };
    this.#sinks.set(name, sink);
    return sink;
  }
}

/** Of equal cursors, the first sink's. */
function oldest(heaps: readonly Heap<MemoryDelivery>[]): MemoryDelivery | undefined {
  let oldest: HeapNode<MemoryDelivery> | undefined;
  for (const { first } of heaps) {
    if (first !== undefined && (oldest === undefined || first.key < oldest.key)) oldest = first;
  }
  return oldest?.value;
}
