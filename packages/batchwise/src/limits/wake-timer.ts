// Time as the limiter needs it: how much has passed since it last looked, and one timer to be woken
// by. A clock that throws, is not a number, goes back, jumps or stands still cannot stop it: see
// SteadyClock.

import { captureAsyncContext } from "../core/time/async-context.ts";
import { type Clock, SteadyClock } from "../core/time/clock.ts";

/** Platform timers hold their delay in 31 bits. A longer wait takes several timers. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/**
 * SteadyClock moves a clock that stands still on by its timers, but only by those that are longer
 * than 2 ms.
 */
const BELIEVED_MS = 3;

export class WakeTimer {
  readonly #clock: SteadyClock;
  readonly #onWake: (elapsedMs: number) => void;
  #readAt: number;
  /** No time had passed when the timer fired last. */
  #stoodStill = false;
  /** The timer that counts: a clock may fire one that was cleared, or fire it twice. */
  #armed: object | null = null;
  #handle: unknown;
  /**
   * The platform's function when the timer was set. Fake timers replace it, and lose what was set
   * with them.
   */
  #platform: unknown;

  /** `onWake` gets the time since the last look, as of `elapsed`. */
  constructor(clock: Clock, onWake: (elapsedMs: number) => void) {
    this.#clock = new SteadyClock(clock, captureAsyncContext());
    this.#onWake = onWake;
    this.#readAt = this.#clock.now();
  }

  /** True where fake timers were switched on or off since the timer was set: it may never fire. */
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

  /** Wakes once in this many milliseconds or later, in place of what was set before. */
  set(delayMs: number): void {
    this.clear();
    // The timer counts from the last reading.
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

  /** Turns the timer off and lets go of it. */
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
