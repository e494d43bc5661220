// Predicts how long a batch runs, by its cost, from the batches that have run. Assumes only that a
// larger batch takes no less time. One speed factor multiplies the means of all classes of cost. It
// follows slowly, and jumps if several batches in a row agree that the handler has become slower or
// faster. The upper estimate is the 84th percentile of real over predicted.

import { CLASSES_PER_OCTAVE, classOf, ENOUGH } from "../core/policy/cost-classes.ts";

/** A class is the mean of about this many batches. */
const IN_MEAN = 24;
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
 * The mean of a class that no batch of this many has used is learned again. The speed has followed
 * other classes since, and what they took for a change of speed may have been noise.
 */
const STALE = 512;

interface TimeClass {
  weight: number;
  /** The number of the last batch that used it. */
  usedAt: number;
  cost: number;
  /** Mean time at speed 1. */
  ms: number;
}

const bounded = (value: number, most: number): number => Math.max(-most, Math.min(most, value));

export class RunTimeModel {
  readonly #classes: Map<number, TimeClass> = new Map();
  /** The classes by cost, their times made non-decreasing. */
  #points: TimeClass[] = [];
  #speed = 1;
  /** Standard deviation of the logarithm of real over predicted. */
  #deviation = 0.2;
  /** Batches in a row that were slower (above 0) or faster (below 0), and their logarithms. */
  #agreed = 0;
  #agreedLog = 0;
  #batches = 0;
  /** The largest cost that it has learned from; 0 before the first batch. */
  largest = 0;

  /** Expected time in milliseconds; 0 before the first batch. */
  predict(cost: number): number {
    const points = this.#points;
    let index = 0;
    while (index < points.length && (points[index] as TimeClass).cost < cost) index += 1;
    const [high, low] = [points[index], points[index - 1]];
    if (high !== undefined && low !== undefined) {
      return this.#speed * (low.ms + ((high.ms - low.ms) * (cost - low.cost)) / (high.cost - low.cost));
    }
    // Below the smallest: between proportional and flat.
    if (high !== undefined) return (this.#speed * high.ms * (1 + cost / high.cost)) / 2;
    if (low === undefined) return 0;
    // Above the largest: proportional. If only one size runs, another one has to be tried, so its
    // time is assumed for all.
    const isAlone = points.length === 1 && low.weight >= ENOUGH;
    return this.#speed * low.ms * (isAlone ? 1 : cost / low.cost);
  }

  /** A time that 84 of 100 batches keep. */
  upper(cost: number): number {
    return this.predict(cost) * Math.exp(UPPER * this.#deviation);
  }

  record(cost: number, ms: number): void {
    if (!(cost > 0 && cost < Infinity && ms > 0)) return;
    const key = classOf(cost);
    const known = this.#classes.get(key) ?? { weight: 0, usedAt: 0, cost, ms: 0 };
    this.#classes.set(key, known);
    this.#batches += 1;
    if (this.#batches - known.usedAt > STALE) known.weight = Math.min(known.weight, 1);
    known.usedAt = this.#batches;
    // The first of a class may have stalled, and no batch of its size might run again to show it.
    let mean = (this.largest > 0 ? Math.min(ms, STALLED * this.predict(cost)) : ms) / this.#speed;
    if (known.weight >= 2) {
      // Its own mean: the prediction is above it where a smaller class is slower.
      const expected = (this.#speed * known.ms * this.predict(cost)) / this.predict(known.cost);
      const change = bounded(ms / expected - 1, 2.5 * this.#deviation);
      if (this.#follow(bounded(Math.log(ms / expected), 3), change)) return;
      mean = known.ms * (1 + change);
    }
    // So may the first of all.
    if (known.weight === 1) known.ms = Math.min(known.ms, STALLED * mean);
    this.largest = Math.max(this.largest, cost);
    known.weight = Math.min(known.weight + 1, IN_MEAN);
    known.cost += (cost - known.cost) / known.weight;
    known.ms += (mean - known.ms) / known.weight;
    this.#order();
  }

  /** Forgets the times of larger batches. */
  forgetAbove(cost: number): void {
    for (const [key, known] of this.#classes) if (known.cost > cost) this.#classes.delete(key);
    this.largest = Math.min(this.largest, cost);
    this.#order();
  }

  /** Averages neighbours where the larger was faster: that is noise. */
  #order(): void {
    const points = [...this.#classes.values()].sort((a, b) => a.cost - b.cost).map((one) => ({ ...one }));
    for (const [end, point] of points.entries()) {
      let { ms, weight } = point;
      let from = end;
      for (; from > 0 && (points[from - 1] as TimeClass).ms > ms; from -= 1) {
        const before = points[from - 1] as TimeClass;
        weight += before.weight;
        ms += ((before.ms - ms) * before.weight) / weight;
      }
      for (; from <= end; from += 1) (points[from] as TimeClass).ms = ms;
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
    const known = this.#points.filter(({ weight }) => weight >= ENOUGH);
    const perUnit = ({ cost, ms }: TimeClass): number => ms / cost;
    const least = AS_GOOD * Math.min(...known.map(perUnit));
    const best = known.findLast((one) => perUnit(one) <= least);
    return best === undefined || best === known.at(-1) ? Infinity : best.cost;
  }

  /**
   * The next class below this cost that is not known well enough and may serve more per second.
   * Infinity where there is none, or where smaller ones have become clearly worse.
   */
  unknownBelow(cost: number): number {
    let least = Infinity;
    for (let key = classOf(cost) - 1; key > 0; key -= 1) {
      const known = this.#classes.get(key);
      if (known === undefined || known.weight < ENOUGH) return 2 ** (key / CLASSES_PER_OCTAVE);
      least = Math.min(least, known.ms / known.cost);
      if (known.ms / known.cost > 1.1 * least) break;
    }
    return Infinity;
  }
}
