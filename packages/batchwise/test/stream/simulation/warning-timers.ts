// The clock that a simulated world gives its streams: counts the timers by which a batch that waits
// for readers is to warn, so that the world sees one that was left behind.

import type { Clock } from "batchwise";

/** After this long a batch warns. No other timer of a world has this delay. */
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
