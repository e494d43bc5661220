// The clock of a simulated world's streams: counts the timers of batches that wait for readers and
// will warn, so that the world notices one that was left set.

import type { Clock } from "batchwise";

/** Time after which a batch warns. No other timer of a world has this delay. */
export const WARN_AFTER_MS = 1000;

export class WarningTimers implements Clock {
  readonly #clock: Clock;
  readonly #pending: Set<unknown> = new Set();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#pending.size;
  }

  now(): number {
    return this.#clock.now();
  }

  setTimeout(callback: () => void, delayMs: number): unknown {
    const handle = this.#clock.setTimeout(() => {
      this.#pending.delete(handle);
      callback();
    }, delayMs);
    if (delayMs === WARN_AFTER_MS) this.#pending.add(handle);
    return handle;
  }

  clearTimeout(handle: unknown): void {
    this.#pending.delete(handle);
    this.#clock.clearTimeout(handle);
  }
}
