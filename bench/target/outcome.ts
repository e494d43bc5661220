/** The outcome of a run in the fast simulator, counted a batch at a time. */
import type { Load } from "./load.ts";

/** Sums of fractions are a little off. */
const ROUNDING = 1e-6;
/** A policy keeps the target if p99 of the answered is at most this times it. */
const KEPT = 1.05;

export interface Outcome {
  readonly offered: number;
  readonly answered: number;
  readonly inTime: number;
  /** Share of the offered items that were answered within the target. */
  readonly goodput: number;
  /** True if 99 of 100 answers came within 1.05 times the target. */
  readonly keeps: boolean;
}

/** The first index from `from` whose time is at least `at`; `to` if there is none. */
export function firstFrom(times: Float64Array, at: number, from: number, to: number): number {
  let step = 1;
  let low = from;
  // The one that is looked for is mostly near.
  while (low + step < to && (times[low + step] as number) < at) {
    low += step;
    step *= 2;
  }
  let high = Math.min(to, low + step);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] as number) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class Counter {
  readonly #load: Load;
  #answered = 0;
  #inTime = 0;
  #nearly = 0;

  constructor(load: Load) {
    this.#load = load;
  }

  /** Counts a batch of the items that arrived at `times[from..to)`, answered at `endsAt`. */
  batch(times: Float64Array, from: number, to: number, endsAt: number): void {
    const { service, warmUpMs } = this.#load;
    const first = (times[from] as number) < warmUpMs ? firstFrom(times, warmUpMs, from, to) : from;
    this.#answered += to - first;
    this.#inTime += to - firstFrom(times, endsAt - service.targetMs - ROUNDING, first, to);
    this.#nearly += to - firstFrom(times, endsAt - KEPT * service.targetMs, first, to);
  }

  outcome(): Outcome {
    const { times, warmUpMs } = this.#load;
    const offered = times.length - firstFrom(times, warmUpMs, 0, times.length);
    return {
      offered,
      answered: this.#answered,
      inTime: this.#inTime,
      goodput: offered > 0 ? this.#inTime / offered : 1,
      keeps: this.#nearly >= 0.99 * this.#answered,
    };
  }
}
