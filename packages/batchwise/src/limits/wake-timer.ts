// Time for a limiter: how much has passed since the last reading, and one timer. A clock that
// throws, is not a number, goes back, jumps or stands still cannot stop it: see SteadyClock.

import { captureAsyncContext } from "../core/time/async-context.ts";
import { type Clock, SteadyClock } from "../core/time/clock.ts";

/**
 * Longest delay in ms of a platform timer, which has 31 bits. A longer wait takes several timers.
 */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/**
 * SteadyClock advances a clock that stands still by its timers, but only by timers longer than 2
 * ms.
 */
const BELIEVED_MS = 3;

export class WakeTimer {
  readonly #clock: SteadyClock;
  readonly #onWake: (elapsedMs: number) => void;
  #readAt: number;
  /** True if no time had passed when the timer last fired. */
  #stoodStill = false;
  /** Identity of the current timer: a clock may fire a cleared timer, or fire one twice. */
  #armed: object | null = null;
  #handle: unknown;
  /**
   * The platform's timer function when the timer was set. Fake timers replace it, and lose timers
   * set before.
   */
  #platform: unknown;

  /** `onWake` receives the time since the last reading, as from `elapsed`. */
  constructor(clock: Clock, onWake: (elapsedMs: number) => void) {
    this.#clock = new SteadyClock(clock, captureAsyncContext());
    this.#onWake = onWake;
    this.#readAt = this.#clock.now();
  }

  /** True if fake timers were installed or removed since the timer was set: it may never fire. */
  get mayBeLost(): boolean {
    return this.#armed !== null && this.#platform !== setTimeout;
  }

  /** Milliseconds since the last call. Never negative and never NaN. */
  elapsed(): number {
    const now = this.#clock.now();
    const elapsedMs = now - this.#readAt;
    this.#readAt = now;
    return elapsedMs;
  }

  /** Fires once, after this many milliseconds or later. Replaces a timer set before. */
  set(delayMs: number): void {
    this.clear();
    // The timer counts from the last reading, so read the clock now.
    this.#clock.now();
    const timer = {};
    const least = this.#stoodStill ? BELIEVED_MS : 0;
    this.#armed = timer;
    this.#platform = setTimeout;
    this.#handle = this.#clock.setTimeout(
      () => this.#fired(timer),
      Math.min(LONGEST_DELAY_MS, Math.max(least, Math.ceil(delayMs))),
    );
  }

  /** Clears the timer and drops its references. */
  clear(): void {
    if (this.#armed === null) return;
    this.#clock.clearTimeout(this.#handle);
    this.#letGo();
  }

  #fired(timer: object): void {
    if (timer !== this.#armed) return;
    this.#letGo();
    const elapsedMs = this.elapsed();
    this.#stoodStill = elapsedMs === 0;
    this.#onWake(elapsedMs);
  }

  #letGo(): void {
    this.#armed = null;
    this.#handle = undefined;
  }
}
