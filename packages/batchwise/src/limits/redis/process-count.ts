// How many processes share the limit, as Redis has said last. Asks Redis again half a second after
// each answer, until ten seconds after the last use of the limiter: so each process knows of those
// that have begun since it asked, is counted by them, and learns that Redis is gone while it waits.

import type { Clock } from "../../core/time/clock.ts";
import { WakeTimer } from "../wake-timer.ts";
import type { Reply } from "./server.ts";

const LOOK_AFTER_MS = 500;
/** So many in a row without a use between them. */
const LOOKS = 20;
/** With each so manieth the process says that it is there. That costs Redis more than to count. */
const LOOKS_TO_BE_SEEN = 6;
/**
 * Where so many in a row have no answer, Redis is gone or its client was closed: the next use of
 * the limiter finds out.
 */
const FAILURES = 2;

export class ProcessCount {
  readonly #look: (isSeen: boolean) => Promise<Reply>;
  readonly #onFailure: (error: unknown) => void;
  readonly #timer: WakeTimer;
  #last = 0;
  #looks = 0;
  #failures = 0;

  /** `onFailure`: a look had no answer. */
  constructor(clock: Clock, look: (isSeen: boolean) => Promise<Reply>, onFailure: (error: unknown) => void) {
    this.#look = look;
    this.#onFailure = onFailure;
    this.#timer = new WakeTimer(clock, () => void this.#lookAgain());
  }

  /** What Redis has said last; 0 before its first answer. */
  get last(): number {
    return this.#last;
  }

  /** Redis has answered a question of the limiter's users. */
  heard({ processes }: Reply): void {
    this.#last = processes;
    this.#looks = 0;
    this.#failures = 0;
    this.#timer.set(LOOK_AFTER_MS);
  }

  /** Redis is gone: `heard` begins anew. */
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
