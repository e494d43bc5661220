// Counts consecutive failures by key, in this process. Forgets keys without a failure for a while,
// because another process may have succeeded since.

export class FailureCounts {
  readonly #forMs: number;
  /** Sorted by time, the oldest first. */
  readonly #failures: Map<string, { readonly count: number; readonly at: number }> = new Map();

  /** `forMs`: longer than the pause after any failure. */
  constructor(forMs: number) {
    this.#forMs = forMs;
  }

  get size(): number {
    return this.#failures.size;
  }

  /** Counts a failure and returns the number of consecutive ones. */
  failed(key: string, now: number): number {
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    this.#failures.delete(key);
    this.#failures.set(key, { count, at: now });
    for (const [other, { at }] of this.#failures) {
      if (at + this.#forMs > now) break;
      this.#failures.delete(other);
    }
    return count;
  }

  succeeded(key: string): void {
    this.#failures.delete(key);
  }
}
