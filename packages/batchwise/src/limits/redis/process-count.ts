// The number of processes that share the limit, as Redis last reported it. Asks Redis half a second
// after each answer, until ten seconds after the last use of the limiter. So each process learns of
// newer ones, is counted by them, and notices while it waits that Redis is lost.

import type { Clock } from "../../core/time/clock.ts";
import { WakeTimer } from "../wake-timer.ts";
import type { Reply } from "./server.ts";

const LOOK_AFTER_MS = 500;
/** Questions in a row without a use of the limiter, after which it stops. */
const LOOKS = 20;
/**
 * In every question of this many, the process reports itself, which costs Redis more than counting.
 */
const LOOKS_TO_BE_SEEN = 6;
/**
 * After this many questions in a row without an answer, Redis is lost or its client was closed: the
 * next use of the limiter finds out which.
 */
const FAILURES = 2;

export class ProcessCount {
  readonly #look: (isSeen: boolean) => Promise<Reply>;
  readonly #onFailure: (error: unknown) => void;
  readonly #timer: WakeTimer;
  #last = 0;
  #looks = 0;
  #failures = 0;

  /** `onFailure`: called if a question gets no answer. */
  constructor(clock: Clock, look: (isSeen: boolean) => Promise<Reply>, onFailure: (error: unknown) => void) {
    this.#look = look;
    this.#onFailure = onFailure;
    this.#timer = new WakeTimer(clock, () => void this.#lookAgain());
  }

  /** The last report of Redis; 0 before the first. */
  get last(): number {
    return this.#last;
  }

  /** Redis has answered a request of the limiter's users. */
  heard({ processes }: Reply): void {
    this.#last = processes;
    this.#looks = 0;
    this.#failures = 0;
    this.#timer.set(LOOK_AFTER_MS);
  }

  /** Call when Redis is lost; `heard` starts again. */
  stop(): void {
    this.#timer.clear();
  }

  async #lookAgain(): Promise<void> {
    this.#looks += 1;
    try {
      const { isStale, processes } = await this.#look(this.#looks % LOOKS_TO_BE_SEEN === 0);
      if (!isStale) this.#last = processes;
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      this.#onFailure(error);
    }
    if (this.#looks < LOOKS && this.#failures < FAILURES) this.#timer.set(LOOK_AFTER_MS);
  }
}
