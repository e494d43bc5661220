/**
 * Measures the recent rate of an event, per second.
 *
 * Guarantees: constant memory, no timer. The rate falls to 0 within the window after the last
 * event.
 */

const WINDOW_SECONDS = 10;

export class RateMeter {
  readonly #now: () => number;
  readonly #startedAt: number;
  /** One count for each second of the window, and one for the current second. */
  readonly #counts: Float64Array = new Float64Array(WINDOW_SECONDS + 1);
  #second: number;

  /** `now` in milliseconds, never falling. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#startedAt = now();
    this.#second = Math.floor(this.#startedAt / 1000);
  }

  add(count: number): void {
    const place = this.#advance() % this.#counts.length;
    this.#counts[place] = (this.#counts[place] ?? 0) + count;
  }

  /** Mean over the last ten seconds, or over the time since the start if that is shorter. */
  perSecond(): number {
    this.#advance();
    let sum = 0;
    for (const count of this.#counts) sum += count;
    const now = this.#now();
    const covered = WINDOW_SECONDS + (now / 1000 - this.#second);
    const elapsed = Math.min(covered, (now - this.#startedAt) / 1000);
    return sum / Math.max(1, elapsed);
  }

  /** Clears the seconds that have left the window and returns the current one. */
  #advance(): number {
    const second = Math.floor(this.#now() / 1000);
    const passed = Math.min(second - this.#second, this.#counts.length);
    for (let step = 1; step <= passed; step += 1) this.#counts[(this.#second + step) % this.#counts.length] = 0;
    this.#second = second;
    return second;
  }
}
