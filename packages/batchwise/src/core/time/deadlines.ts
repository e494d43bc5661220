// All that is due at a time of its own: deadlines of items, time limits of batches, pauses before a retry. One heap
// and one timer for all of them, and no timer at all while nothing is due.

import type { InOneStep } from "../submit/abort-signals.ts";
import { Alarm, type Clock } from "./clock.ts";
import { type Heaped, LazyHeap } from "./heap.ts";

/** Something that happens at `dueAt` unless it is over by then. */
export interface Due extends Heaped {
  readonly dueAt: number;
  readonly isOver: boolean;
  /** Called once, at `dueAt` or later. */
  ring(): void;
}

export class Agenda {
  readonly #clock: Clock;
  readonly #alarm: Alarm;
  readonly #entries: LazyHeap<Due> = new LazyHeap(
    (due) => due.dueAt,
    (due) => due.isOver,
  );

  /** All that is due rings in one step. */
  constructor(clock: Clock, inOneStep: InOneStep) {
    this.#clock = clock;
    this.#alarm = new Alarm(clock, () => inOneStep(() => this.ringDue(this.#clock.now())));
  }

  add(due: Due, now: number): void {
    this.#entries.push(due);
    if (this.#entries.peek() === due) this.#alarm.set(due.dueAt, now);
  }

  /** To be told when an entry is over before its time. */
  noteOver(): void {
    this.#entries.noteGone();
    if (this.#entries.peek() === undefined) this.#alarm.clear();
  }

  /** Rings all that is due. Called by the timer, and before every decision, for timers come late to a busy loop. */
  ringDue(now: number): void {
    for (;;) {
      const first = this.#entries.peek();
      if (first === undefined) {
        this.#alarm.clear();
        return;
      }
      if (first.dueAt > now) {
        this.#alarm.set(first.dueAt, now);
        return;
      }
      this.#entries.shift();
      first.ring();
    }
  }
}

/** A callback at a time, that can be called off. */
export class Timeout implements Due {
  readonly dueAt: number;
  /** Let go of when it is over: the agenda may keep the rest of it for a while. */
  #callback: (() => void) | null;
  heaped = false;

  constructor(dueAt: number, callback: () => void) {
    this.dueAt = dueAt;
    this.#callback = callback;
  }

  get isOver(): boolean {
    return this.#callback === null;
  }

  ring(): void {
    const callback = this.#callback;
    this.#callback = null;
    callback?.();
  }

  /** Calls it off, if it has not rung. */
  cancel(agenda: Agenda): void {
    if (this.#callback === null) return;
    this.#callback = null;
    agenda.noteOver();
  }
}
