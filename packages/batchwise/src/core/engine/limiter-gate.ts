// One batcher's way through its limiter. It asks before a batch is closed and keeps a grant until that is used or given
// back. A limiter that fails holds the batcher for a second and is asked again: it stops nobody for good.

import type { LimiterAnswer, LimiterClient, RateLimiter } from "../contract/limiter.ts";
import { isThenable } from "../contract/thenable.ts";
import type { Services } from "../submit/services.ts";
import { Timer } from "../time/clock.ts";

const PAUSE_AFTER_FAILURE_MS = 1_000;

export class LimiterGate implements LimiterClient {
  readonly #limiter: RateLimiter;
  readonly #services: Services;
  readonly #onChange: () => void;
  readonly #afterFailure: Timer;
  /** The cost that was granted and not used yet. */
  #granted: number | null = null;
  #isAsking = false;
  #isWaiting = false;
  #hasFailed = false;

  /** `onChange` is called when it is worth asking again. */
  constructor(limiter: RateLimiter, services: Services, onChange: () => void) {
    this.#limiter = limiter;
    this.#services = services;
    this.#onChange = onChange;
    this.#afterFailure = new Timer(services.clock, () => {
      this.#hasFailed = false;
      onChange();
    });
  }

  /** Asks for one call of this cost. Returns how much it may cost now; null: not yet. */
  ask(cost: number): number | null {
    if (this.#granted === null && !this.#isAsking && !this.#hasFailed) this.#reserve(cost);
    return this.#granted;
  }

  /** A call of this cost is made with what was granted. */
  use(cost: number): void {
    const granted = this.#granted ?? 0;
    this.#granted = null;
    if (cost !== granted) this.#try(() => this.#limiter.giveBack(0, granted - cost));
  }

  /** There is nothing to call for. */
  withdraw(): void {
    if (this.#granted !== null) {
      const granted = this.#granted;
      this.#granted = null;
      this.#try(() => this.#limiter.giveBack(1, granted));
    }
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.#try(() => this.#limiter.withdraw(this));
  }

  /** Ends it with its batcher. */
  close(): void {
    this.withdraw();
    this.#afterFailure.clear();
  }

  retry(): void {
    this.#onChange();
  }

  #reserve(cost: number): void {
    this.#try(() => {
      const answer = this.#limiter.reserve(this, cost);
      if (!isThenable(answer)) {
        this.#take(answer);
        return;
      }
      this.#isAsking = true;
      Promise.resolve(answer).then(
        (late) => this.#answered(() => this.#take(late)),
        (error: unknown) => this.#answered(() => this.#failed(error)),
      );
    });
  }

  #answered(use: () => void): void {
    this.#isAsking = false;
    this.#try(use);
    this.#onChange();
  }

  #take(answer: LimiterAnswer): void {
    this.#isWaiting = !answer.granted;
    if (!answer.granted) return;
    if (!(answer.cost >= 0)) throw new TypeError("Expected the limiter to grant a cost that is a number >= 0.");
    this.#granted = answer.cost;
  }

  /** A limiter may keep its books elsewhere: nobody waits for a promise of it, but it may reject. */
  #try(use: () => unknown): void {
    try {
      const done = use();
      if (isThenable(done)) Promise.resolve(done).catch((error: unknown) => this.#failed(error));
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    this.#hasFailed = true;
    const now = this.#services.clock.now();
    this.#afterFailure.set(now + PAUSE_AFTER_FAILURE_MS, now);
    this.#services.events.warn("LIMITER_FAILED", "The limiter failed; it is asked again in a second.", error);
  }
}
