// The clock of a simulation. Time moves from event to event; timers are in a heap. It ends turns
// itself, when the driver says that all arrivals of one time have been submitted, so an arrival
// costs no promise job and no task of the platform.

import type { Clock } from "../core/time/clock.ts";
import { Heap, HeapNode } from "../core/time/heap.ts";

export class EventClock implements Clock {
  readonly #timers: Heap<() => void> = new Heap();
  /** The open turn, and further ones: a simulation of one batcher has at most one. */
  #turn: (() => void) | null = null;
  #moreTurns: (() => void)[] = [];
  #now = 0;

  now(): number {
    return this.#now;
  }

  setTimeout(callback: () => void, delayMs: number): HeapNode<() => void> {
    const timer = new HeapNode(callback);
    this.#timers.put(timer, this.#now + (delayMs > 0 ? delayMs : 0));
    return timer;
  }

  clearTimeout(handle: unknown): void {
    if (handle instanceof HeapNode) this.#timers.remove(handle);
  }

  setImmediate(callback: () => void): void {
    this.setTimeout(callback, 0);
  }

  endOfTurn(callback: () => void): void {
    if (this.#turn === null) this.#turn = callback;
    else this.#moreTurns.push(callback);
  }

  /** Time of the next timer; Infinity if none is set. */
  get nextAt(): number {
    return this.#timers.first?.key ?? Infinity;
  }

  moveTo(at: number): void {
    if (at > this.#now) this.#now = at;
  }

  /** Fires the first timer at its time. */
  fireNext(): void {
    const timer = this.#timers.first;
    if (timer === undefined) return;
    this.moveTo(timer.key);
    this.#timers.remove(timer);
    timer.value();
  }

  /** Ends the open turns, and turns that open meanwhile. */
  endTurns(): void {
    while (this.#turn !== null) {
      const ended = this.#turn;
      this.#turn = this.#moreTurns.shift() ?? null;
      ended();
    }
  }

  get hasOpenTurn(): boolean {
    return this.#turn !== null;
  }
}
