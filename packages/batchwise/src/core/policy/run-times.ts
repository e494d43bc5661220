// How long the last batches ran, for the question when one has to go to meet a deadline.

/** So many of the last batches count. */
const REMEMBERED = 64;
/**
 * A batch is given this much more than the 95th percentile of the last ones, and a millisecond for
 * the way there.
 */
const SAFETY = 1.25;
const MARGIN_MS = 1;

export class RunTimes {
  readonly #runMs: number[] = [];
  #next = 0;
  #leadMs: number | undefined;

  record(runMs: number): void {
    this.#runMs[this.#next] = runMs;
    this.#next = (this.#next + 1) % REMEMBERED;
    this.#leadMs = undefined;
  }

  /**
   * How long before a deadline its batch has to go, in milliseconds; undefined until a first batch
   * has ended.
   */
  get leadMs(): number | undefined {
    if (this.#runMs.length === 0) return undefined;
    if (this.#leadMs === undefined) {
      const sorted = this.#runMs.toSorted((a, b) => a - b);
      this.#leadMs = SAFETY * (sorted[Math.ceil(0.95 * sorted.length) - 1] as number) + MARGIN_MS;
    }
    return this.#leadMs;
  }
}
