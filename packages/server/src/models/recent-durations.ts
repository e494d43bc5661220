/**
 * Quantiles of recent durations, for a live display; the engine's own statistics cover its whole
 * life.
 *
 * Guarantees: constant memory, no timer. Uses at most the last thousand durations of the last ten
 * seconds.
 */

const WINDOW_MS = 10_000;
const CAPACITY = 1000;

export interface RecentQuantiles {
  /** null if there were no durations. */
  readonly p50: number | null;
  readonly p95: number | null;
}

export class RecentDurations {
  readonly #now: () => number;
  readonly #durations: Float64Array = new Float64Array(CAPACITY);
  readonly #seenAt: Float64Array = new Float64Array(CAPACITY).fill(Number.NEGATIVE_INFINITY);
  #next = 0;

  /** `now` in milliseconds, never falling. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  add(durationMs: number): void {
    this.#durations[this.#next] = durationMs;
    this.#seenAt[this.#next] = this.#now();
    this.#next = (this.#next + 1) % CAPACITY;
  }

  quantiles(): RecentQuantiles {
    const since = this.#now() - WINDOW_MS;
    const recent = this.#durations.filter((_, place) => (this.#seenAt[place] ?? 0) >= since).sort();
    const at = (share: number): number | null => recent[Math.ceil(share * recent.length) - 1] ?? null;
    return { p50: at(0.5), p95: at(0.95) };
  }
}
