// All timed events: deadlines of callers, time limits of calls, pauses before a retry. They share
// one heap and one timer, which exists only while an event is set.

import { type Clock, Timer } from "./clock.ts";
import { Heap, HeapNode } from "./heap.ts";

export interface Steps {
  /** Runs work as one step: its consequences are handled after all of it is done. */
  inOneStep(work: () => void): void;
}

/** An event that fires once, at its time or later. */
export interface Due {
  /** First step, for all events that are due together. Returns false if it is already over. */
  leave(): boolean;
  /** Second step, if `leave` returned true. */
  expired(): void;
}

export class Deadlines {
  readonly clock: Clock;
  readonly #steps: Steps;
  /** Created with the first deadline, like the timer. */
  #heap: Heap<Due> | null = null;
  #timer: Timer | null = null;

  /** All due events fire in one of the `steps`. */
  constructor(clock: Clock, steps: Steps) {
    this.clock = clock;
    this.#steps = steps;
  }

  add(node: HeapNode<Due>, at: number): void {
    this.#heap ??= new Heap();
    this.#heap.add(node, at);
    this.#timer ??= new Timer(this.clock, () => this.#steps.inOneStep(() => this.fireDue(this.clock.now())));
    if (this.#heap.first === node) this.#timer.set(at, this.clock.now());
  }

  get isEmpty(): boolean {
    return this.#heap === null || this.#heap.size === 0;
  }

  remove(node: HeapNode<Due>): void {
    this.#heap?.remove(node);
    if (this.isEmpty) this.#timer?.clear();
  }

  /**
   * Fires all due events: all leave before any listener is notified, because a listener may send
   * waiting entries. Called by the timer and before every decision, because timers are late in a
   * busy loop.
   */
  fireDue(now: number): void {
    const heap = this.#heap;
    if (heap === null || heap.size === 0) return;
    const expired: Due[] = [];
    for (let { first } = heap; first !== undefined && first.key <= now; { first } = heap) {
      heap.remove(first);
      if (first.value.leave()) expired.push(first.value);
    }
    this.#timer?.set(heap.first?.key ?? Infinity, now);
    for (const due of expired) due.expired();
  }
}

/** A timeout that can be cancelled and set again. */
export class Timeout {
  readonly #deadlines: Deadlines;
  #node: HeapNode<Due> | null = null;

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  get isSet(): boolean {
    return this.#node !== null;
  }

  /** Calls back once after `ms`. Replaces an earlier call. */
  start(ms: number, callback: () => void): void {
    this.clear();
    const node: HeapNode<Due> = new HeapNode<Due>({
      // It may be cancelled between the two steps.
      leave: () => true,
      expired: () => {
        if (this.#node !== node) return;
        this.#node = null;
        callback();
      },
    });
    this.#node = node;
    this.#deadlines.add(node, this.#deadlines.clock.now() + ms);
  }

  clear(): void {
    if (this.#node !== null) this.#deadlines.remove(this.#node);
    this.#node = null;
  }
}
