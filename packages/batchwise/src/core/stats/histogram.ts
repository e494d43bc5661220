// A histogram with a bounded relative error: 32 buckets per doubling, so a quantile is within 1.6 %
// of the true value. Keeps counts only for doublings that occur, and never discards values.

import type { Quantiles } from "../contract/stats.ts";

const SUB_BUCKETS = 32;

export class Histogram {
  readonly #unit: number;
  /** Counts of each doubling, created when it first occurs. */
  readonly #doublings: (number[] | undefined)[] = [];
  #total = 0;
  #sum = 0;
  #max = 0;

  /** `unit`: the smallest distinguished difference: 0.001 for ms in microseconds, 1 for counts. */
  constructor(unit: number) {
    this.#unit = unit;
  }

  /** Adds `times` observations of one value. */
  record(value: number, times: number): void {
    // Adds 1, so that 0 has a bucket. As an integer of 32ths, the doubling is its highest bit, and
    // the bucket the five bits below. That is faster than a logarithm.
    let scaled = (Math.min(Math.max(0, value / this.#unit || 0), Number.MAX_VALUE / 64) + 1) * SUB_BUCKETS;
    let halvings = 0;
    for (; scaled >= 2 ** 31; scaled /= 2) halvings += 1;
    const shift = 26 - Math.clz32(scaled);
    const doubling = halvings + shift;
    this.#doublings[doubling] ??= new Array<number>(SUB_BUCKETS).fill(0);
    const counts = this.#doublings[doubling] as number[];
    const index = (scaled >> shift) - SUB_BUCKETS;
    counts[index] = (counts[index] as number) + times;
    this.#total += times;
    if (value > 0) this.#sum += value * times;
    if (value > this.#max) this.#max = value;
  }

  quantiles(): Quantiles {
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

  /** Whole values are exact while each has a bucket of its own. */
  #middleOf(doubling: number, index: number): number {
    const width = 2 ** doubling / SUB_BUCKETS;
    const low = SUB_BUCKETS * width - 1 + index * width;
    const middle = this.#unit === 1 ? low + Math.max(0, Math.floor((width - 1) / 2)) : low + width / 2;
    return middle * this.#unit;
  }
}
