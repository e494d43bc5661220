// A token bucket: a level that rises at a constant rate up to a capacity. It is full at first. A
// debt makes it negative. It knows no clock: its owner tells it how much time has passed.

/**
 * What is missing for a nanosecond only counts as there, so that rounding never makes a timer a
 * millisecond later.
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

  /** Lets the level rise for this long. */
  refill(elapsedMs: number): void {
    this.#level = Math.min(this.#capacity, this.#level + elapsedMs * this.#perMs);
  }

  /** How long until `amount` is there or the bucket is full, whichever comes first. 0: now. */
  waitFor(amount: number): number {
    const missing = Math.min(amount, this.#capacity) - this.#level;
    return missing <= 0 ? 0 : Math.max(0, missing / this.#perMs - NEGLIGIBLE_MS);
  }

  /**
   * Takes `amount`, or a full bucket where that is less. Returns what was taken. Call it when
   * `waitFor` says 0.
   */
  take(amount: number): number {
    const taken = Math.min(amount, this.#capacity);
    this.#level -= taken;
    return taken;
  }

  /** Puts `amount` back, up to the capacity. A negative amount leaves a debt. */
  add(amount: number): void {
    this.#level = Math.min(this.#capacity, this.#level + amount);
  }
}
