// How often something failed in a row, by key, in this process. Forgets keys that have not failed
// for a while: another process may have done it since, and nobody says so.

export class FailureCounts {
  readonly #forMs: number;
  /** The longest ago first. */
  readonly #failures: Map<string, { readonly count: number; readonly at: number }> = new Map();

  /** `forMs`: longer than the pause after any failure. */
  constructor(forMs: number) {
    this.#forMs = forMs;
  }

  get size(): number {
    return this.#failures.size;
  }

  /** Gives the number of failures in a row. */
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
