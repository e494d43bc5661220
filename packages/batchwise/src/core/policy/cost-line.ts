// What a call costs besides its items: the straight line through the last batches' times by their cost. Times differ by
// chance far more than by so little, so many batches count, more than for anything else that is learned.

/** About so many of the last batches count. */
const REMEMBERED = 128;

export class CostLine {
  // Sums over the batches, each weighted by `1 / runMs ** 2`, so that errors are relative: small batches count as much.
  #sum = 0;
  #sumX = 0;
  #sumY = 0;
  #sumXX = 0;
  #sumXY = 0;

  record(cost: number, runMs: number): void {
    const kept = 1 - 1 / REMEMBERED;
    const weight = 1 / (runMs * runMs);
    this.#sum = kept * this.#sum + weight;
    this.#sumX = kept * this.#sumX + weight * cost;
    this.#sumY = kept * this.#sumY + weight * runMs;
    this.#sumXX = kept * this.#sumXX + weight * cost * cost;
    this.#sumXY = kept * this.#sumXY + weight * cost * runMs;
  }

  /**
   * What a call costs besides its items, in units of cost: least squares of `runMs = slope * (fixedCost + cost)`.
   * Infinity where time does not rise with cost; null where all batches cost the same.
   */
  get fixedCost(): number | null {
    const spread = this.#sum * this.#sumXX - this.#sumX * this.#sumX;
    if (!(spread > 1e-9 * this.#sum * this.#sumXX)) return null;
    const slope = (this.#sum * this.#sumXY - this.#sumX * this.#sumY) / spread;
    if (!(slope > 0)) return Infinity;
    return Math.max(0, (this.#sumY - slope * this.#sumX) / this.#sum / slope);
  }

  forget(): void {
    this.#sum = 0;
    this.#sumX = 0;
    this.#sumY = 0;
    this.#sumXX = 0;
    this.#sumXY = 0;
  }
}
