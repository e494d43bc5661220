// Time as the limiter needs it: how much has passed since it last looked, and one timer to be woken by. A clock that is
// not a number, goes back or jumps cannot stop it: such a reading counts as no time, or as the delay of the timer that
// has just fired.

import type { Clock } from "../core/time/clock.ts";

/** Platform timers hold their delay in 31 bits. A longer wait takes several timers. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

export class WakeTimer {
  readonly #clock: Clock;
  readonly #onWake: (elapsedMs: number) => void;
  /** The last reading that was a number; NaN before the first. */
  #readAt = Number.NaN;
  #isArmed = false;
  #delayMs = 0;
  #handle: unknown;

  /** `onWake` gets the time since the last look, as of `elapsed`. */
  constructor(clock: Clock, onWake: (elapsedMs: number) => void) {
    this.#clock = clock;
    this.#onWake = onWake;
  }

  /** Milliseconds since the last call. Never negative and never NaN. */
  elapsed(): number {
    return this.#elapsed(0);
  }

  /** Wakes once in this many milliseconds or later, in place of what was set before. */
  set(delayMs: number): void {
    this.clear();
    this.#isArmed = true;
    this.#delayMs = Math.min(LONGEST_DELAY_MS, Math.ceil(delayMs));
    this.#handle = this.#clock.setTimeout(this.#fire, this.#delayMs);
  }

  /** Turns the timer off and lets go of it. */
  clear(): void {
    if (!this.#isArmed) return;
    this.#clock.clearTimeout(this.#handle);
    this.#isArmed = false;
    this.#handle = undefined;
  }

  readonly #fire = (): void => {
    this.#isArmed = false;
    this.#handle = undefined;
    this.#onWake(this.#elapsed(this.#delayMs));
  };

  /** `otherwise` is what a reading counts for that cannot be compared with the last one. */
  #elapsed(otherwise: number): number {
    const reading = this.#clock.now();
    const passedMs = reading - this.#readAt;
    this.#readAt = Number.isFinite(reading) ? reading : this.#readAt + otherwise;
    return passedMs >= 0 && passedMs < Number.POSITIVE_INFINITY ? passedMs : otherwise;
  }
}
