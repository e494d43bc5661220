// The arrivals of a simulation. Each kind is plain data, so a run can be written down and repeated.

import { exponential, type Random } from "./random.ts";

/**
 * The arrivals of items. Rates are items per second; times are milliseconds from the start of the
 * run.
 *
 * - `poisson`: independent callers.
 * - `bursts`: Poisson, with `factor` times the mean rate for `burstMs`, then for `restMs` with a
 *   lower rate that keeps the mean. Default: 3 times for 200 ms, a third for 600 ms.
 *   `lengths: "random"` draws both lengths from exponential distributions.
 * - `bunches`: `size` items at once; the bunches are Poisson.
 * - `curve`: Poisson, with a rate that changes linearly between points, such as a day's. Starts
 *   again after the last point.
 * - `times`: a list, in ascending order.
 * - `closed`: `callers` who each submit, wait for the answer and think for `thinkMs` on average
 *   (exponential; default 0) before they submit again. Without `thinkMs`, a refused one comes again
 *   after the error's `retryAfterMs`, or after `retryMs`.
 */
export type Arrivals =
  | { readonly kind: "poisson"; readonly perSecond: number }
  | {
      readonly kind: "bursts";
      readonly perSecond: number;
      readonly factor?: number;
      readonly burstMs?: number;
      readonly restMs?: number;
      readonly lengths?: "fixed" | "random";
    }
  | { readonly kind: "bunches"; readonly perSecond: number; readonly size: number }
  | { readonly kind: "curve"; readonly points: readonly (readonly [atMs: number, perSecond: number])[] }
  | { readonly kind: "times"; readonly atMs: readonly number[] }
  | { readonly kind: "closed"; readonly callers: number; readonly thinkMs?: number };

/** The next arrival: `size` items at one time. */
export interface Stream {
  /** Infinity if none follows. */
  readonly nextAt: number;
  readonly size: number;
  advance(): void;
}

class Poisson implements Stream {
  readonly size: number;
  readonly #meanMs: number;
  readonly #random: Random;
  nextAt: number;

  constructor(perSecond: number, size: number, random: Random) {
    this.size = size;
    this.#meanMs = (1_000 * size) / perSecond;
    this.#random = random;
    this.nextAt = exponential(random, this.#meanMs);
  }

  advance(): void {
    this.nextAt += exponential(this.#random, this.#meanMs);
  }
}

/** A span in which the rate is linear. */
interface Span {
  readonly endsAt: number;
  readonly fromPerSecond: number;
  readonly toPerSecond: number;
}

/** Poisson arrivals with a changing rate, by thinning: each span draws at its largest rate. */
class Changing implements Stream {
  readonly size = 1;
  readonly #random: Random;
  readonly #nextSpan: () => Span;
  readonly #untilMs: number;
  #span: Span;
  #startsAt = 0;
  nextAt = 0;

  /** `untilMs`: later spans are not drawn, because a rate may be 0 or nearly 0 in all of them. */
  constructor(random: Random, untilMs: number, nextSpan: () => Span) {
    this.#random = random;
    this.#untilMs = untilMs;
    this.#nextSpan = nextSpan;
    this.#span = nextSpan();
    this.advance();
  }

  advance(): void {
    for (;;) {
      const { endsAt, fromPerSecond, toPerSecond } = this.#span;
      const highest = Math.max(fromPerSecond, toPerSecond);
      const at = highest > 0 ? this.nextAt + exponential(this.#random, 1_000 / highest) : Infinity;
      if (at > endsAt) {
        this.nextAt = endsAt < this.#untilMs ? endsAt : Infinity;
        if (this.nextAt === Infinity) return;
        this.#startsAt = endsAt;
        this.#span = this.#nextSpan();
        continue;
      }
      this.nextAt = at;
      if (fromPerSecond === toPerSecond) return;
      const share = (at - this.#startsAt) / (endsAt - this.#startsAt);
      const rate = fromPerSecond + share * (toPerSecond - fromPerSecond);
      if (this.#random() * highest < rate) return;
    }
  }
}

class Listed implements Stream {
  readonly #times: readonly number[];
  #index = 0;

  constructor(times: readonly number[]) {
    this.#times = times;
  }

  get nextAt(): number {
    return this.#times[this.#index] ?? Infinity;
  }

  get size(): number {
    let end = this.#index;
    while (this.#times[end] === this.nextAt) end += 1;
    return end - this.#index;
  }

  advance(): void {
    this.#index += this.size;
  }
}

const NONE: Stream = { nextAt: Infinity, size: 0, advance: () => {} };

/**
 * The arrivals of open-loop kinds before `untilMs`, and perhaps later ones; none for a closed loop,
 * whose callers submit by themselves.
 */
export function streamOf(arrivals: Arrivals, random: Random, untilMs: number): Stream {
  switch (arrivals.kind) {
    case "poisson":
      return new Poisson(arrivals.perSecond, 1, random);
    case "bunches":
      return new Poisson(arrivals.perSecond, arrivals.size, random);
    case "bursts":
      return new Changing(random, untilMs, burstSpans(arrivals, random));
    case "curve":
      return new Changing(random, untilMs, curveSpans(arrivals.points));
    case "times":
      return new Listed(arrivals.atMs);
    case "closed":
      return NONE;
  }
}

/** The defaults of bursts. */
export const BURSTS = { factor: 3, burstMs: 200, restMs: 600, lengths: "fixed" } as const;

function burstSpans(given: Extract<Arrivals, { kind: "bursts" }>, random: Random): () => Span {
  const { perSecond, factor, burstMs, restMs, lengths } = { ...BURSTS, ...given };
  const restRate = (perSecond * (burstMs + restMs - factor * burstMs)) / restMs;
  let endsAt = 0;
  let isBurst = false;
  return () => {
    isBurst = !isBurst;
    const meanMs = isBurst ? burstMs : restMs;
    endsAt += lengths === "random" ? exponential(random, meanMs) : meanMs;
    const rate = isBurst ? factor * perSecond : restRate;
    return { endsAt, fromPerSecond: rate, toPerSecond: rate };
  };
}

function curveSpans(points: readonly (readonly [atMs: number, perSecond: number])[]): () => Span {
  const [first] = points as readonly [readonly [number, number]];
  const last = points[points.length - 1] as readonly [number, number];
  let index = -1;
  let startsAt = 0;
  return () => {
    index += 1;
    // Before the first point, the rate is the first point's.
    const from = index === 0 ? ([0, first[1]] as const) : (points[index - 1] as readonly [number, number]);
    const to = points[index] as readonly [number, number];
    const endsAt = startsAt + to[0];
    if (to === last) {
      index = -1;
      startsAt = endsAt;
    }
    return { endsAt, fromPerSecond: from[1], toPerSecond: to[1] };
  };
}
