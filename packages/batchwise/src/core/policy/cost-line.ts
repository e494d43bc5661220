// What a call costs besides its items: the straight line through the times of the last batches by their cost. Batches of
// similar cost share a point, and a point counts hardly more for having been seen often: where nearly all batches are of
// one cost, the few others say most.

/** So many points to a doubling of cost. */
const POINTS_PER_OCTAVE = 4;
/** A point is the mean of about so many batches. */
const REMEMBERED = 32;
/** What a point keeps of its weight when a batch falls elsewhere. */
const KEPT = 1 - 1 / 64;
/** A point with less weight is forgotten. */
const LEAST_WEIGHT = 0.5;
/** No point counts more than this many batches. */
const HEAVIEST = 4;

interface Point {
  weight: number;
  cost: number;
  runMs: number;
}

export class CostLine {
  readonly #points: Map<number, Point> = new Map();

  record(cost: number, runMs: number): void {
    const key = Math.round(POINTS_PER_OCTAVE * Math.log2(cost));
    for (const [other, point] of this.#points) {
      if (other === key) continue;
      point.weight *= KEPT;
      if (point.weight < LEAST_WEIGHT) this.#points.delete(other);
    }
    const point = this.#points.get(key);
    if (point === undefined) {
      this.#points.set(key, { weight: 1, cost, runMs });
      return;
    }
    point.weight = Math.min(point.weight + 1, REMEMBERED);
    point.cost += (cost - point.cost) / point.weight;
    point.runMs += (runMs - point.runMs) / point.weight;
  }

  /**
   * What a call costs besides its items, in units of cost: least squares of `runMs = slope * (fixedCost + cost)`, by
   * relative error. Infinity where time does not rise with cost; null where all batches cost the same.
   */
  get fixedCost(): number | null {
    let [sum, sumX, sumY, sumXX, sumXY] = [0, 0, 0, 0, 0];
    for (const { weight, cost, runMs } of this.#points.values()) {
      const share = Math.min(weight, HEAVIEST) / (runMs * runMs);
      sum += share;
      sumX += share * cost;
      sumY += share * runMs;
      sumXX += share * cost * cost;
      sumXY += share * cost * runMs;
    }
    const spread = sum * sumXX - sumX * sumX;
    if (!(spread > 1e-9 * sum * sumXX)) return null;
    const slope = (sum * sumXY - sumX * sumY) / spread;
    if (!(slope > 0)) return Infinity;
    return Math.max(0, (sumY - slope * sumX) / sum / slope);
  }

  forget(): void {
    this.#points.clear();
  }
}
