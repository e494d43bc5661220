// Whether a batch ran longer than the deadlines of its callers allow, for what is learned of sizes.

import type { Entry } from "../queue/entry.ts";

export class Lateness {
  /** Callers whose deadline passed while it ran, and the longest time that one of them had from submit to deadline. */
  #expired = 0;
  #longestTimeoutMs = 0;

  /** Notes an entry whose caller has left. `usualMs`: the time limit of a submit that names none; it may be Infinity. */
  noteLeft({ moment, facts }: Entry, usualMs: number, now: number): void {
    const timeoutMs = facts.timeoutMs ?? usualMs;
    if (timeoutMs === Infinity || now < moment.at + timeoutMs) return;
    this.#expired += 1;
    this.#longestTimeoutMs = Math.max(this.#longestTimeoutMs, timeoutMs);
  }

  /**
   * True where at least half of `size` callers expired, and the run took more than half of the time that they had. The
   * other half goes by while the batch before it runs.
   */
  isOutrun(size: number, runMs: number): boolean {
    return 2 * this.#expired >= size && 2 * runMs > this.#longestTimeoutMs;
  }
}
