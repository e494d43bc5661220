// A histogram with a bounded relative error: 32 buckets for each doubling, so a quantile is within
// 1.6 % of the true value. Counts are kept for the doublings that occur. It does not forget: it
// holds all that was recorded.

import type { Quantiles } from "../contract/stats.ts";

const SUB_BITS = 5;
const SUB_BUCKETS = 1 << SUB_BITS;
/** Bit operations hold up to here. Larger values are halved first. */
const LARGEST = 2 ** 31 - 1;

export class Histogram {
  readonly #unit: number;
  /** The counts of each doubling; made when it first occurs. */
  readonly #doublings: (number[] | undefined)[] = [];
  /** The last value, and how many observations of it have not been added yet. */
  #last = 0;
  #repeats = 0;
  #total = 0;
  #sum = 0;
  #max = 0;

  /**
   * `unit`: the finest difference that is kept apart, 0.001 for milliseconds in microseconds, 1 for
   * counts.
   */
  constructor(unit: number) {
    this.#unit = unit;
  }

  /** Adds `times` observations of one value. A value that comes again is counted when another comes. */
  record(value: number, times: number): void {
    if (value !== this.#last) {
      this.#add(this.#last, this.#repeats);
      this.#last = value;
      this.#repeats = 0;
    }
    this.#repeats += times;
  }

  #add(value: number, times: number): void {
    if (times === 0) return;
    const units = value / this.#unit;
    const halvings = units > LARGEST ? halvingsOf(units) : 0;
    const whole = units > LARGEST ? Math.min(units, Number.MAX_VALUE) / 2 ** halvings : units > 0 ? units | 0 : 0;
    const doubling = whole < SUB_BUCKETS ? 0 : 32 - Math.clz32(whole) - SUB_BITS;
    this.#doublings[doubling + halvings] ??= new Array<number>(SUB_BUCKETS).fill(0);
    const counts = this.#doublings[doubling + halvings] as number[];
    const index = doubling === 0 ? whole : (whole >>> (doubling - 1)) - SUB_BUCKETS;
    counts[index] = (counts[index] as number) + times;
    this.#total += times;
    if (value > 0) this.#sum += value * times;
    if (value > this.#max) this.#max = value;
  }

  quantiles(): Quantiles {
    this.#add(this.#last, this.#repeats);
    this.#repeats = 0;
    const mean = this.#total === 0 ? 0 : this.#sum / this.#total;
    return Object.freeze({ mean, p50: this.#at(0.5), p95: this.#at(0.95), p99: this.#at(0.99), max: this.#max });
  }

  /** The nearest-rank quantile, as the middle of its bucket, never above the largest value seen. */
  #at(share: number): number {
    const rank = Math.ceil(share * this.#total);
    if (rank === 0) return 0;
    let seen = 0;
    for (let doubling = 0; doubling < this.#doublings.length; doubling += 1) {
      const counts = this.#doublings[doubling];
      if (counts === undefined) continue;
      for (let index = 0; index < SUB_BUCKETS; index += 1) {
        seen += counts[index] as number;
        if (seen >= rank) return Math.min(this.#max, this.#middleOf(doubling, index));
      }
    }
    return this.#max;
  }

  /** Whole values are exact as long as each has a bucket of its own. */
  #middleOf(doubling: number, index: number): number {
    const width = doubling === 0 ? 1 : 2 ** (doubling - 1);
    const low = doubling === 0 ? index : (SUB_BUCKETS + index) * width;
    const middle = this.#unit === 1 ? low + Math.floor((width - 1) / 2) : low + width / 2;
    return middle * this.#unit;
  }
}

/**
 * How often a value above the largest is halved: often enough, whatever the rounding of its
 * logarithm.
 */
function halvingsOf(units: number): number {
  return Math.floor(Math.log2(Math.min(units, Number.MAX_VALUE))) - 29;
}
