// A loop of the dispatcher. Runs its turn when woken, or at the time that the last turn returned,
// never two at once. A turn that throws is reported and repeated after a pause; the loop continues.

import { type Clock, Timer } from "../../core/time/clock.ts";
import { backoff } from "./backoff.ts";

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;

/** Does all due work and returns the time of the next turn; Infinity: only when woken. */
export type Turn = () => Promise<number>;

export class Loop {
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #onRest: () => void;
  readonly #timer: Timer;
  #turn: Turn | null = null;
  #current: Promise<void> = Promise.resolve();
  #isRunning = false;
  #isWoken = false;
  #nextAt = Number.POSITIVE_INFINITY;
  #failures = 0;

  /** `onRest` is called when the loop begins to wait. */
  constructor(clock: Clock, onError: (error: unknown) => void, onRest: () => void = () => {}) {
    this.#clock = clock;
    this.#onError = onError;
    this.#onRest = onRest;
    this.#timer = new Timer(clock, () => this.wake());
  }

  get isStarted(): boolean {
    return this.#turn !== null;
  }

  /** True while nothing runs and nothing is due. A failed turn is due until it succeeds. */
  get isResting(): boolean {
    if (this.#isRunning || this.#turn === null) return !this.#isRunning;
    return this.#failures === 0 && this.#nextAt > this.#clock.now();
  }

  /** The time of the next turn; Infinity: only when woken. */
  get nextAt(): number {
    return this.#nextAt;
  }

  start(turn: Turn): void {
    this.#turn = turn;
    this.wake();
  }

  /**
   * Runs a turn now, or once more after the running one. Does nothing before `start` and after
   * `stop`.
   */
  wake(): void {
    this.#isWoken = true;
    if (this.#turn !== null && !this.#isRunning) this.#current = this.#run(this.#turn);
  }

  /**
   * Runs a turn at this time at the latest, however many run before it. The earliest time is kept.
   */
  wakeAt(at: number): void {
    if (at >= this.#nextAt || this.#turn === null) return;
    this.#nextAt = at;
    if (!this.#isRunning) this.#timer.set(at, this.#clock.now());
  }

  /** Resolves when the running turn, if any, has ended. */
  async stop(): Promise<void> {
    this.#turn = null;
    this.#timer.clear();
    await this.#current;
  }

  async #run(turn: Turn): Promise<void> {
    this.#isRunning = true;
    this.#timer.clear();
    while (this.#isWoken && this.#turn !== null) {
      this.#isWoken = false;
      // This turn serves all wake-ups so far. Later ones stay, whichever time the turn returns.
      if (this.#nextAt <= this.#clock.now()) this.#nextAt = Number.POSITIVE_INFINITY;
      try {
        this.wakeAt(await turn());
        this.#failures = 0;
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#isRunning = false;
    if (this.#turn !== null) this.#timer.set(this.#nextAt, this.#clock.now());
    this.#onRest();
  }

  /** A wake-up during the failed turn waits too: the cause probably persists for a while. */
  #failed(error: unknown): void {
    this.#failures += 1;
    this.#isWoken = false;
    this.#nextAt = this.#clock.now() + backoff(FIRST_RETRY_MS, LAST_RETRY_MS, this.#failures);
    this.#onError(error);
  }
}
