// Estimates a batch's run time from recent batches, to meet deadlines.

/** Number of recent batches. */
const REMEMBERED = 64;
/**
 * Factor over the 95th percentile of recent run times; one more millisecond covers the dispatch.
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
   * How long before a deadline its batch must start, in ms; undefined before the first batch has
   * ended.
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
