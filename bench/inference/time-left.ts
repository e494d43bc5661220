/**
 * Elapsed and remaining time of a run with known parts: the estimates, scaled by the actual times
 * of the parts so far.
 */
export class TimeLeft {
  readonly #estimates: readonly number[];
  readonly #started: number = performance.now();
  #done = 0;
  #partStarted: number = this.#started;

  constructor(estimatesMs: readonly number[]) {
    this.#estimates = estimatesMs;
  }

  finishOne(): void {
    this.#done += 1;
    this.#partStarted = performance.now();
  }

  toString(): string {
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
    const scale =
      this.#done === 0 ? 1 : (this.#partStarted - this.#started) / sum(this.#estimates.slice(0, this.#done));
    const now = performance.now();
    const current = Math.max(0, (this.#estimates[this.#done] ?? 0) * scale - (now - this.#partStarted));
    const left = current + scale * sum(this.#estimates.slice(this.#done + 1));
    return `${minutes(now - this.#started)}, about ${minutes(left)} left`;
  }
}

export function minutes(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}
