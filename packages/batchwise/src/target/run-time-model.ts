// Predicts how long a batch runs, by its cost, from the batches that have run. Assumes only that a
// larger batch takes no less time. One speed factor multiplies the means of all classes of cost. It
// follows slowly, and jumps if several batches in a row agree that the handler has become slower or
// faster. The upper estimate is the 84th percentile of real over predicted.

import { type CostClass, CostClasses, classBelow, ENOUGH, type RunCost, unitMs } from "../core/policy/cost-classes.ts";

/** The first times of a class count as at most this many times what was predicted. */
const STALLED = 1.5;
/** A time per unit this close to the least is as good. */
const AS_GOOD = 1.03;
/**
 * 84 of 100 batches are less than this many deviations above the prediction. With 95 the rule
 * refuses items that would have been in time, and p99 stays 5 % below the target.
 */
const UPPER = 1;
/** The speed jumps after this many batches in a row that differ by this many deviations. */
const [AGREED, DIFFERENT] = [4, 1.5];
/** How fast the spread follows, and its least: from near 0 it would not rise again. */
const [STEP, LEAST] = [0.05, 0.03];

/**
 * The share of its weight that a class keeps at each batch of another class, because the shared
 * speed may have drifted with the others.
 */
const KEPT = 0.99;

/** Mean times at speed 1. */
type Point = Pick<CostClass, "weight" | "cost" | "runMs">;

const bounded = (value: number, most: number): number => Math.max(-most, Math.min(most, value));

export class RunTimeModel {
  readonly #classes: CostClasses = new CostClasses(KEPT, false);
  /** The classes by cost, their times made non-decreasing. */
  #points: Point[] = [];
  #speed = 1;
  /** Standard deviation of the logarithm of real over predicted. */
  #deviation = 0.2;
  /** Batches in a row that were slower (above 0) or faster (below 0), and their logarithms. */
  #agreed = 0;
  #agreedLog = 0;
  /** The largest cost that it has learned from; 0 before the first batch. */
  largest = 0;

  /** Expected time in milliseconds; 0 before the first batch. */
  predict(cost: number): number {
    const points = this.#points;
    let index = 0;
    while (index < points.length && (points[index] as Point).cost < cost) index += 1;
    const [high, low] = [points[index], points[index - 1]];
    if (high !== undefined && low !== undefined) {
      return this.#speed * (low.runMs + ((high.runMs - low.runMs) * (cost - low.cost)) / (high.cost - low.cost));
    }
    // Below the smallest: between proportional and flat.
    if (high !== undefined) return (this.#speed * high.runMs * (1 + cost / high.cost)) / 2;
    if (low === undefined) return 0;
    // Above the largest: proportional. If only one size runs, another one has to be tried, so its
    // time is assumed for all.
    const isAlone = points.length === 1 && low.weight >= ENOUGH;
    return this.#speed * low.runMs * (isAlone ? 1 : cost / low.cost);
  }

  /** A time that 84 of 100 batches keep. */
  upper(cost: number): number {
    return this.predict(cost) * Math.exp(UPPER * this.#deviation);
  }

  record(run: RunCost): void {
    const { cost, runMs: ms } = run;
    if (!(cost > 0 && cost < Infinity && ms > 0)) return;
    const known = this.#classes.of(cost);
    // The first of a class may have stalled, and no batch of its size might run again to show it.
    let mean = (this.largest > 0 ? Math.min(ms, STALLED * this.predict(cost)) : ms) / this.#speed;
    if (known !== undefined && known.weight >= 2) {
      // Its own mean: the prediction is above it where a smaller class is slower.
      const expected = (this.#speed * known.runMs * this.predict(cost)) / this.predict(known.cost);
      const change = bounded(ms / expected - 1, 2.5 * this.#deviation);
      if (this.#follow(bounded(Math.log(ms / expected), 3), change)) return;
      mean = known.runMs * (1 + change);
    }
    // So may the first of all.
    else if (known !== undefined) known.runMs = Math.min(known.runMs, STALLED * mean);
    this.largest = Math.max(this.largest, cost);
    this.#classes.add({ ...run, runMs: mean });
    this.#order();
  }

  /** Forgets the times of larger batches. */
  forgetAbove(cost: number): void {
    this.#classes.forgetFrom(cost * (1 + 1e-9));
    this.largest = Math.min(this.largest, cost);
    this.#order();
  }

  /** Averages neighbours where the larger was faster: that is noise. */
  #order(): void {
    const points = this.#classes.byCost().map((one) => ({ ...one }));
    for (const [end, point] of points.entries()) {
      let { runMs, weight } = point;
      let from = end;
      for (; from > 0 && (points[from - 1] as Point).runMs > runMs; from -= 1) {
        const before = points[from - 1] as Point;
        weight += before.weight;
        runMs += ((before.runMs - runMs) * before.weight) / weight;
      }
      for (; from <= end; from += 1) (points[from] as Point).runMs = runMs;
    }
    this.#points = points;
  }

  /**
   * Follows the speed and the spread. True where the speed has jumped. The speed and the mean of a
   * class move by the same `change`. Otherwise one drifts against the other, and with it away from
   * the means of sizes that seldom run.
   */
  #follow(log: number, change: number): boolean {
    const spread = this.#deviation;
    const differs = Math.abs(log) > DIFFERENT * spread ? Math.sign(log) : 0;
    if (differs * this.#agreed <= 0) this.#agreed = this.#agreedLog = 0;
    this.#agreed += differs;
    this.#agreedLog += log;
    const hasJumped = Math.abs(this.#agreed) === AGREED;
    this.#speed *= hasJumped ? Math.exp(this.#agreedLog / AGREED) : 1 + change / 32;
    if (hasJumped) this.#agreed = 0;
    else this.#deviation = Math.max(LEAST, spread * Math.exp(STEP * ((Math.abs(log) > spread ? 1 : 0) - 0.317)));
    return hasJumped;
  }

  /** The largest cost, up to twice the known, that most batches run in this time; within 3 %. */
  costWithin(ms: number): number {
    let cost = 2 * this.largest;
    while (cost > 1e-3 && this.upper(cost) > ms) cost *= 0.97;
    return cost;
  }

  /** The cost that serves most per second; Infinity unless larger ones are known to serve fewer. */
  get efficient(): number {
    const best = this.#classes.best(AS_GOOD);
    return best === null || best.isLargest ? Infinity : best.cost;
  }

  /**
   * The next class below this cost that is not known well enough and may serve more per second.
   * Infinity where there is none, or where smaller ones have become clearly worse.
   */
  unknownBelow(cost: number): number {
    let least = Infinity;
    for (let size = classBelow(cost); size > 1; size = classBelow(size)) {
      const known = this.#classes.of(size);
      if (known === undefined || known.weight < ENOUGH) return size;
      least = Math.min(least, unitMs(known));
      if (unitMs(known) > 1.1 * least) break;
    }
    return Infinity;
  }
}
