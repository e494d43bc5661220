// One loop of the dispatcher: a turn that runs when it is woken or when its time has come, never twice at once. A turn
// that fails is reported and runs again a little later; it never ends the loop.

import { Timer } from "../../core/time/clock.ts";
import { backoff } from "../decide/backoff.ts";
import type { DispatchClock } from "../options/dispatcher-options.ts";

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;

/** Does what is due and says when to run next unless woken before; Infinity for only when woken. */
export type Turn = () => Promise<number>;

export class Loop {
  readonly #clock: DispatchClock;
  readonly #onError: (error: unknown) => void;
  readonly #alarm: Timer;
  #turn: Turn | null = null;
  #current: Promise<void> = Promise.resolve();
  #isRunning = false;
  #isWoken = false;
  #nextAt = Number.POSITIVE_INFINITY;
  #failures = 0;

  constructor(clock: DispatchClock, onError: (error: unknown) => void) {
    this.#clock = clock;
    this.#onError = onError;
    this.#alarm = new Timer(clock, () => this.wake());
  }

  start(turn: Turn): void {
    this.#turn = turn;
    this.wake();
  }

  /** Runs a turn now, or once more after the one that runs. Nothing before `start` and after `stop`. */
  wake(): void {
    this.#isWoken = true;
    if (this.#turn !== null && !this.#isRunning) this.#current = this.#run(this.#turn);
  }

  /** Runs a turn at that time at the latest, however many run before it. Of several times the earliest is kept. */
  wakeAt(at: number): void {
    if (at >= this.#nextAt || this.#turn === null) return;
    this.#nextAt = at;
    if (!this.#isRunning) this.#alarm.set(at, this.#clock.now());
  }

  /** Resolves when the turn that runs, if any, has ended. */
  async stop(): Promise<void> {
    this.#turn = null;
    this.#alarm.clear();
    await this.#current;
  }

  async #run(turn: Turn): Promise<void> {
    this.#isRunning = true;
    this.#alarm.clear();
    while (this.#isWoken && this.#turn !== null) {
      this.#isWoken = false;
      // What this turn is for is behind us; what others asked for later stands, whatever the turn answers.
      if (this.#nextAt <= this.#clock.now()) this.#nextAt = Number.POSITIVE_INFINITY;
      try {
        this.wakeAt(await turn());
        this.#failures = 0;
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#isRunning = false;
    if (this.#turn !== null) this.#alarm.set(this.#nextAt, this.#clock.now());
  }

  /** A wake-up that came meanwhile waits too: whatever refused will not be better at once. */
  #failed(error: unknown): void {
    this.#failures += 1;
    this.#isWoken = false;
    this.#nextAt = this.#clock.now() + backoff(FIRST_RETRY_MS, LAST_RETRY_MS, this.#failures);
    this.#onError(error);
  }
}
