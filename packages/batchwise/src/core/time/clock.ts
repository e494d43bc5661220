// Time, injected. The engine reads time and sets timers only through a Clock, so that the whole of it runs under a
// virtual one in tests and in the simulator. An Alarm is the one re-armable timer that the engine keeps per purpose.

/** Where a batcher gets its time from. All times are milliseconds from an arbitrary origin and never go back. */
export interface Clock {
  now(): number;
  setTimeout(callback: () => void, delayMs: number): unknown;
  clearTimeout(handle: unknown): void;
}

/** `performance.now()` and the platform's timers. */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (callback, delayMs) => setTimeout(callback, delayMs),
  clearTimeout: (handle) => clearTimeout(handle as never),
};

/** When a deadline is, from this very moment on and not from the beginning of a turn that may have been long. */
export function dueAfter(clock: Clock, timeoutMs: number): number {
  return timeoutMs === Number.POSITIVE_INFINITY ? timeoutMs : clock.now() + timeoutMs;
}

/** Timers of the platforms hold their delay in 31 bits; a longer one is cut and armed again when it rings. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/**
 * One timer that rings at a time or later, never earlier: platform timers ring up to 1 ms early, so the clock is read
 * again when they do. Moving it later costs nothing (it is re-armed when it rings), moving it earlier one timer.
 */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #handle: unknown;
  #armedFor = Number.POSITIVE_INFINITY;
  #wantedAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Rings once at `at`, in place of what was set before. */
  set(at: number, now: number): void {
    if (at === Number.POSITIVE_INFINITY) {
      this.clear();
      return;
    }
    this.#wantedAt = at;
    if (at < this.#armedFor) this.#arm(at, now);
  }

  /** Turns it off: an idle batcher holds no timer. */
  clear(): void {
    this.#wantedAt = Number.POSITIVE_INFINITY;
    this.#disarm();
  }

  #arm(at: number, now: number): void {
    this.#disarm();
    this.#armedFor = at;
    const delayMs = Math.min(LONGEST_DELAY_MS, Math.max(0, Math.ceil(at - now)));
    this.#handle = this.#clock.setTimeout(this.#rang, delayMs);
  }

  #disarm(): void {
    if (this.#armedFor === Number.POSITIVE_INFINITY) return;
    this.#clock.clearTimeout(this.#handle);
    this.#armedFor = Number.POSITIVE_INFINITY;
  }

  readonly #rang = (): void => {
    this.#armedFor = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    if (this.#wantedAt > now) {
      this.#arm(this.#wantedAt, now);
      return;
    }
    this.#wantedAt = Number.POSITIVE_INFINITY;
    this.#ring();
  };
}
