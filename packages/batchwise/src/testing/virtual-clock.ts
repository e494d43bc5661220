// A clock that moves only when a test moves it. Timers fire in the order of their time. Between two
// timers, every promise job, turn and immediate of the program under test runs to its end, so a
// test sees what an idle machine would do, without waiting.

import { bindMethods } from "../core/contract/bind-methods.ts";
import type { Clock } from "../core/time/clock.ts";
import { Heap, HeapNode } from "../core/time/heap.ts";

/** A clock that moves when a test says so. */
export interface VirtualClock extends Clock {
  /** Runs the callback in the next `settle` or `advance`, after all promise jobs and turns. */
  setImmediate(callback: () => void): void;
  /**
   * Runs everything that is due now, without moving time: promise jobs, turns, immediates, held
   * work.
   */
  settle(): Promise<void>;
  /**
   * Holds time until this work ends, or for `atMostMs` of real time (default Infinity): for a
   * test's own call of a real server. Returns the work's result. A dispatcher holds its store calls
   * itself, and its other calls for a moment.
   */
  hold<Value>(work: Promise<Value>, atMostMs?: number): Promise<Value>;
  /** Moves time forward by this many milliseconds, and fires every timer on the way. */
  advance(ms: number): Promise<void>;
  /**
   * Moves time from timer to timer until none is left, through at most `limit` timers (default
   * 100,000).
   */
  runAll(limit?: number): Promise<void>;
  /** Time of the next timer; Infinity if none is set. */
  readonly nextAt: number;
  /** Number of timers that are set and have neither fired nor been cleared. */
  readonly timers: number;
}

/** A limit against endless loops: no test needs more in one step. */
const MAX_IMMEDIATES = 100_000;

/** The heap keeps timers of equal time in the order in which they were set. */
type Timer = HeapNode<() => void>;

/**
 * Makes a virtual clock that starts at `startAt` milliseconds (default 0). Pass it to a batcher, a
 * limiter or a dispatcher as `clock`; for a dispatcher `startAt` is in epoch milliseconds.
 *
 * @example
 * ```ts
 * import { batch } from "batchwise";
 * import { virtualClock } from "batchwise/testing";
 * const clock = virtualClock();
 * const echo = batch(async (items: string[]) => items, { maxWaitMs: 50, clock });
 * const answer = echo("a");
 * await clock.advance(50); // the window ends
 * await answer;
 * ```
 */
export function virtualClock(startAt = 0): VirtualClock {
  return new SteppedClock(startAt);
}

class SteppedClock implements VirtualClock {
  readonly #timers: Heap<() => void> = new Heap();
  readonly #immediates: (() => void)[] = [];
  /** Real time until which each piece of work is awaited. */
  readonly #held: Map<object, number> = new Map();
  #now: number;

  constructor(startAt: number) {
    this.#now = startAt;
    bindMethods(this);
  }

  now(): number {
    return this.#now;
  }

  setTimeout(callback: () => void, delayMs: number): unknown {
    const timer: Timer = new HeapNode(callback);
    // A delay that is not a number counts as 0, as on the platform.
    this.#timers.put(timer, this.#now + (delayMs > 0 ? delayMs : 0));
    return timer;
  }

  clearTimeout(handle: unknown): void {
    if (handle instanceof HeapNode) this.#timers.remove(handle);
  }

  get nextAt(): number {
    return this.#timers.first?.key ?? Number.POSITIVE_INFINITY;
  }

  get timers(): number {
    return this.#timers.size;
  }

  setImmediate(callback: () => void): void {
    this.#immediates.push(callback);
  }

  async hold<Value>(work: Promise<Value>, atMostMs: number = Number.POSITIVE_INFINITY): Promise<Value> {
    const place = {};
    this.#held.set(place, performance.now() + atMostMs);
    try {
      return await work;
    } finally {
      this.#held.delete(place);
    }
  }

  async settle(): Promise<void> {
    for (let run = 0; run < MAX_IMMEDIATES; run += 1) {
      do await nextTask();
      while (this.#isHeld());
      const callback = this.#immediates.shift();
      if (callback === undefined) return;
      callback();
    }
    throw new Error(`More than ${MAX_IMMEDIATES} immediates ran: the program under test may be polling.`);
  }

  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await this.settle();
    for (let timer = this.#timers.first; timer !== undefined && timer.key <= until; timer = this.#timers.first) {
      this.#fire(timer);
      await this.settle();
    }
    // Another `advance` may have moved time further.
    if (until > this.#now) this.#now = until;
  }

  async runAll(limit = 100_000): Promise<void> {
    await this.settle();
    let rung = 0;
    for (let timer = this.#timers.first; timer !== undefined; timer = this.#timers.first) {
      if (rung >= limit) throw new Error(`More than ${limit} timers rang: the program under test may be polling.`);
      rung += 1;
      this.#fire(timer);
      await this.settle();
    }
  }

  #isHeld(): boolean {
    if (this.#held.size === 0) return false;
    const now = performance.now();
    for (const until of this.#held.values()) if (until > now) return true;
    return false;
  }

  #fire(timer: Timer): void {
    this.#now = Math.max(this.#now, timer.key);
    this.#timers.remove(timer);
    timer.value();
  }
}

interface Tasks {
  readonly setImmediate?: (callback: () => void) => unknown;
}

/** Resolves in a later task of the platform, after all promise jobs and turns. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { setImmediate } = globalThis as Tasks;
    if (setImmediate !== undefined) setImmediate(resolve);
    else setTimeout(resolve, 0);
  });
}
