// All timed events: deadlines of callers, time limits of calls, pauses before a retry. Events of
// one duration are due in the order in which they were set, so each duration has a list, and only
// the lists are in a heap. All share one timer, which exists only while an event is set.

import { type Clock, Timer } from "./clock.ts";
import { Heap, HeapNode } from "./heap.ts";
import { type Ends, Linked, link, unlink } from "./linked-list.ts";

export interface Steps {
  /** Runs work as one step: its consequences are handled after all of it is done. */
  inOneStep(work: () => void): void;
}

/** Steps in the time of a clock. */
export interface TimedSteps extends Steps {
  readonly clock: Clock;
}

/** An event that fires once, at its time or later. */
export abstract class Due extends Linked<Due> {
  /** Infinity until it is first set. */
  dueAt: number = Infinity;
  /** Null while it is not set. */
  duration: Duration | null = null;

  /** First step, for all events that are due together. Returns false if it is already over. */
  abstract leave(): boolean;
  /** Second step, if `leave` returned true. */
  abstract expired(): void;
}

/** The list of events of one duration in ms. Its key is the time of the first one, or earlier. */
class Duration extends HeapNode<number> implements Ends<Due> {
  first: Due | null = null;
  last: Due | null = null;
}

export class Deadlines {
  readonly #steps: TimedSteps;
  /** Durations with events. Made with the first event, like the heap and the timer. */
  #durations: Map<number, Duration> | null = null;
  #heap: Heap<number> | null = null;
  #timer: Timer | null = null;

  /** All due events fire in one of the `steps`. */
  constructor(steps: TimedSteps) {
    this.#steps = steps;
  }

  get isEmpty(): boolean {
    return this.#heap === null || this.#heap.size === 0;
  }

  /** Sets an event that is not set. */
  set(due: Due, ms: number): void {
    const steps = this.#steps;
    const now = steps.clock.now();
    due.dueAt = now + ms;
    const duration = this.#durationOf(ms);
    due.duration = duration;
    link(duration, due, duration.last);
    if (duration.first !== due) return;
    this.#heap ??= new Heap();
    this.#heap.put(duration, due.dueAt);
    this.#timer ??= new Timer(steps.clock, () => steps.inOneStep(() => this.fireDue(steps.clock.now())));
    if (this.#heap.first === duration) this.#timer.set(due.dueAt, now);
  }

  #durationOf(ms: number): Duration {
    this.#durations ??= new Map();
    const known = this.#durations.get(ms);
    if (known !== undefined) return known;
    const duration = new Duration(ms);
    this.#durations.set(ms, duration);
    return duration;
  }

  remove(due: Due): void {
    const { duration } = due;
    if (duration === null) return;
    due.duration = null;
    unlink(duration, due);
    if (duration.first !== null) return;
    this.#durations?.delete(duration.value);
    this.#heap?.remove(duration);
    if (this.isEmpty) this.#timer?.clear();
  }

  /**
   * Fires all due events: all leave before any listener is notified, because a listener may send
   * waiting entries. Called by the timer and before every decision, because timers are late in a
   * busy loop.
   */
  fireDue(now: number): void {
    const heap = this.#heap;
    if (heap?.first === undefined) return;
    const expired: Due[] = [];
    for (let { first } = heap; first !== undefined && first.key <= now; { first } = heap) {
      const due = (first as Duration).first as Due;
      if (due.dueAt > first.key) {
        heap.put(first, due.dueAt);
      } else {
        this.remove(due);
        if (due.leave()) expired.push(due);
      }
    }
    this.#timer?.set(heap.first?.key ?? Infinity, now);
    for (const due of expired) due.expired();
  }
}

/** A timeout that can be cancelled and set again. */
export class Timeout extends Due {
  readonly #deadlines: Deadlines;
  #callback: (() => void) | null = null;

  constructor(deadlines: Deadlines) {
    super();
    this.#deadlines = deadlines;
  }

  get isSet(): boolean {
    return this.#callback !== null;
  }

  /** Calls back once after `ms`. Replaces an earlier call. */
  start(ms: number, callback: () => void): void {
    this.clear();
    this.#callback = callback;
    this.#deadlines.set(this, ms);
  }

  clear(): void {
    this.#deadlines.remove(this);
    this.#callback = null;
  }

  leave(): boolean {
    return true;
  }

  /** It may have been cleared, or set again, since it left. */
  expired(): void {
    if (this.duration !== null) return;
    const callback = this.#callback;
    this.#callback = null;
    callback?.();
  }
}
