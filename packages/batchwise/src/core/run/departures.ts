// Callers who left a batch while it ran, for what is learned of the size that it bears.

export class Departures {
  /** True once the last caller has left without an answer. */
  isComplete = false;
  /**
   * Callers whose deadline passed, and the longest time that one of them had since its item was
   * queued.
   */
  #expired = 0;
  #longestTimeoutMs = 0;

  noteExpired(timeoutMs: number): void {
    this.#expired += 1;
    this.#longestTimeoutMs = Math.max(this.#longestTimeoutMs, timeoutMs);
  }

  /**
   * True for a call that was longer than deadlines allow: at least half of `size` callers expired,
   * and it took more than half of the time that they had. The other half goes by while the batch
   * before it runs.
   */
  showsTooLong(size: number, callMs: number): boolean {
    return 2 * this.#expired >= size && 2 * callMs > this.#longestTimeoutMs;
  }
}
