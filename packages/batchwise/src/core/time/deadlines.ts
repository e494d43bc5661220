// All that happens at a time of its own: deadlines of callers, time limits of calls, pauses before
// a retry. One heap and one timer for all of them, and no timer at all while nothing is due.

import { type Clock, Timer } from "./clock.ts";
import { Heap, HeapNode } from "./heap.ts";

/** Runs work as one step: what it sets in motion waits until all of it is done. */
export type InOneStep = (work: () => void) => void;

/** Something that happens once, at its time or later. */
export interface Due {
  /** First call, for all that is due together: false where it is over already. */
  expire(): boolean;
  /** Second call, where `expire` returned true. */
  expired(): void;
}

export class Deadlines {
  readonly clock: Clock;
  readonly #inOneStep: InOneStep;
  /** Made with the first deadline, like the timer. */
  #heap: Heap<Due> | null = null;
  #timer: Timer | null = null;

  /** All that is due happens in one step. */
  constructor(clock: Clock, inOneStep: InOneStep) {
    this.clock = clock;
    this.#inOneStep = inOneStep;
  }

  add(node: HeapNode<Due>, at: number): void {
    this.#heap ??= new Heap();
    this.#heap.add(node, at);
    this.#timer ??= new Timer(this.clock, () => this.#inOneStep(() => this.fireDue(this.clock.now())));
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
   * Fires all that is due: all of it expires before anyone is told, for a listener may send what
   * still waits. Called by the timer, and before every decision, for timers come late in a busy
   * loop.
   */
  fireDue(now: number): void {
    const heap = this.#heap;
    if (heap === null || heap.size === 0) return;
    const expired: Due[] = [];
    for (let { first } = heap; first !== undefined && first.key <= now; { first } = heap) {
      heap.remove(first);
      if (first.value.expire()) expired.push(first.value);
    }
    this.#timer?.set(heap.first?.key ?? Infinity, now);
    for (const due of expired) due.expired();
  }
}

/** A callback at a time of its own, which can be called off and set anew. */
export class Timeout {
  readonly #deadlines: Deadlines;
  #node: HeapNode<Due> | null = null;

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  get isSet(): boolean {
    return this.#node !== null;
  }

  /** Calls back once after `ms`, in place of what was set before. */
  start(ms: number, callback: () => void): void {
    this.clear();
    const node: HeapNode<Due> = new HeapNode<Due>({
      // It may be called off between the two steps.
      expire: () => true,
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
