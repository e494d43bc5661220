// A loop of the dispatcher. Runs its turn when woken or at the time that the last turn returned,
// never two at once. A turn that throws is reported and runs again after a pause; it does not end
// the loop.

import { type Clock, Timer } from "../../core/time/clock.ts";
import { backoff } from "../decide/times/backoff.ts";

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;

/** Does what is due and says when to run next unless woken before; Infinity for only when woken. */
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

  /** `onRest` is called when the loop goes to sleep. */
  constructor(clock: Clock, onError: (error: unknown) => void, onRest: () => void = () => {}) {
    this.#clock = clock;
    this.#onError = onError;
    this.#onRest = onRest;
    this.#timer = new Timer(clock, () => this.wake());
  }

  get isStarted(): boolean {
    return this.#turn !== null;
  }

  /** True while nothing runs, and nothing is due. */
  get isResting(): boolean {
    return !this.#isRunning && (this.#turn === null || this.#nextAt > this.#clock.now());
  }

  start(turn: Turn): void {
    this.#turn = turn;
    this.wake();
  }

  /**
   * Runs a turn now, or once more after the one that runs. Nothing before `start` and after `stop`.
   */
  wake(): void {
    this.#isWoken = true;
    if (this.#turn !== null && !this.#isRunning) this.#current = this.#run(this.#turn);
  }

  /**
   * Runs a turn at that time at the latest, however many run before it. Of several times the
   * earliest is kept.
   */
  wakeAt(at: number): void {
    if (at >= this.#nextAt || this.#turn === null) return;
    this.#nextAt = at;
    if (!this.#isRunning) this.#timer.set(at, this.#clock.now());
  }

  /** Resolves when the turn that runs, if any, has ended. */
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
      // This turn serves all wake-ups until now; later ones stay, whatever the turn returns.
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

  /** A wake-up during the failed turn waits too: the cause is unlikely to be gone at once. */
  #failed(error: unknown): void {
    this.#failures += 1;
    this.#isWoken = false;
    this.#nextAt = this.#clock.now() + backoff(FIRST_RETRY_MS, LAST_RETRY_MS, this.#failures);
    this.#onError(error);
  }
}
