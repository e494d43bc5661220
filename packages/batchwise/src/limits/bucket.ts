// A token bucket: a level that rises at a constant rate up to a capacity. It starts full. A debt
// makes the level negative. It has no clock: its owner passes the elapsed time.

/**
 * An amount that arrives within a nanosecond counts as present, so that rounding never delays a
 * timer by a millisecond.
 */
const NEGLIGIBLE_MS = 1e-6;

export class Bucket {
  readonly #perMs: number;
  readonly #capacity: number;
  #level: number;

  /** `perMs` and `capacity` are finite and positive. */
  constructor(perMs: number, capacity: number) {
    this.#perMs = perMs;
    this.#capacity = capacity;
    this.#level = capacity;
  }

  /** Raises the level by `elapsedMs` at its rate. */
  refill(elapsedMs: number): void {
    this.#level = Math.min(this.#capacity, this.#level + elapsedMs * this.#perMs);
  }

  /**
   * Time in ms until the level reaches `amount` or the capacity, whichever comes first; 0 if it
   * has.
   */
  waitFor(amount: number): number {
    const missing = Math.min(amount, this.#capacity) - this.#level;
    return missing <= 0 ? 0 : Math.max(0, missing / this.#perMs - NEGLIGIBLE_MS);
  }

  /**
   * Takes `amount`, or the capacity if that is less, and returns the amount taken. Call it when
   * `waitFor` returns 0.
   */
  take(amount: number): number {
    const taken = Math.min(amount, this.#capacity);
    this.#level -= taken;
    return taken;
  }

  /** Returns `amount`, up to the capacity. A negative amount leaves a debt. */
  add(amount: number): void {
    this.#level = Math.min(this.#capacity, this.#level + amount);
  }
}
