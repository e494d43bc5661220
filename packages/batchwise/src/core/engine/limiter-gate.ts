// Calls one batcher's limiter: requests a grant before a batch is closed and keeps it until it is
// used or returned. A limiter that fails holds the batcher for a second and is then called again,
// so a failing limiter never stops a batcher permanently.

import { describe } from "../contract/errors.ts";
import type { LimiterAnswer, LimiterClient, RateLimiter } from "../contract/limiter.ts";
import { attempt, isThenable } from "../contract/thenable.ts";
import type { Services } from "../submit/services.ts";
import { Timer } from "../time/clock.ts";

const PAUSE_AFTER_FAILURE_MS = 1_000;

export class LimiterGate implements LimiterClient {
  readonly #limiter: RateLimiter;
  readonly #services: Services;
  readonly #onChange: () => void;
  readonly #afterFailure: Timer;
  /** Granted cost that is not used yet. */
  #granted: number | null = null;
  /** Cost of the last request. */
  #asked = 0;
  #isAsking = false;
  #isWaiting = false;
  /** The same request may get another answer now. */
  #mayAskAgain = false;
  /** After a failure: when the next request is allowed. Infinity: closed. */
  #pausesUntil: number = -Infinity;

  /** `onChange` is called when a new request may succeed. */
  constructor(limiter: RateLimiter, services: Services, onChange: () => void) {
    this.#limiter = limiter;
    this.#services = services;
    this.#onChange = onChange;
    this.#afterFailure = new Timer(services.clock, () => this.retry());
  }

  /** True while it waits for the limiter, or holds a grant. */
  get hasAsked(): boolean {
    return this.#isWaiting || this.#isAsking || this.#granted !== null;
  }

  /**
   * Requests one call of this cost. Returns the granted cost; null: not yet. While it waits, it
   * requests again only for another cost, or when the limiter calls `retry`. `isWhole`: the call
   * cannot be cut to an earlier, smaller grant.
   */
  ask(cost: number, isWhole: boolean): number | null {
    if (isWhole && this.#granted !== null && cost > this.#asked) this.withdraw();
    const isNew = !this.#isWaiting || this.#mayAskAgain || cost !== this.#asked;
    if (this.#granted === null && !this.#isAsking && isNew && !this.#isPausing()) this.#reserve(cost);
    return this.#granted;
  }

  /** True during the pause after a failure. A timer runs while there is something to request. */
  #isPausing(): boolean {
    const now = this.#services.clock.now();
    if (now >= this.#pausesUntil) return false;
    this.#afterFailure.set(this.#pausesUntil, now);
    return true;
  }

  /** Uses the grant for a call of this cost. */
  use(cost: number): void {
    const granted = this.#granted ?? 0;
    this.#granted = null;
    if (cost !== granted) this.#try(() => this.#limiter.giveBack(0, granted - cost));
  }

  /** Withdraws the request, because there is nothing to call for. */
  withdraw(): void {
    this.#afterFailure.clear();
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
    this.#pausesUntil = Infinity;
  }

  retry(): void {
    this.#mayAskAgain = true;
    this.#onChange();
  }

  #reserve(cost: number): void {
    this.#asked = cost;
    this.#mayAskAgain = false;
    this.#try(() => {
      const answer = this.#limiter.reserve(this, cost);
      if (isThenable(answer)) void this.#takeLate(answer);
      else this.#take(answer);
    });
  }

  /** Never rejects. */
  async #takeLate(answer: PromiseLike<LimiterAnswer>): Promise<void> {
    this.#isAsking = true;
    try {
      this.#take(await answer);
    } catch (error) {
      this.#failed(error);
    }
    this.#isAsking = false;
    this.#onChange();
  }

  #take(answer: LimiterAnswer): void {
    const { granted, cost }: { readonly granted: unknown; readonly cost?: unknown } = answer;
    if (typeof granted !== "boolean") {
      throw new TypeError(`Expected the limiter's \`granted\` to be a boolean, got ${describe(granted)}`);
    }
    this.#isWaiting = !granted;
    if (!granted) return;
    if (typeof cost !== "number" || !(cost >= 0)) {
      throw new TypeError(`Expected the limiter's \`cost\` to be a number >= 0, got ${describe(cost)}`);
    }
    this.#granted = cost;
  }

  #try(use: () => unknown): void {
    attempt(
      use,
      (error) => this.#failed(error),
      (error) => this.#warn("The limiter failed to take something back.", error),
    );
  }

  #failed(error: unknown): void {
    if (this.#pausesUntil === Infinity) return;
    const now = this.#services.clock.now();
    this.#pausesUntil = now + PAUSE_AFTER_FAILURE_MS;
    this.#afterFailure.set(this.#pausesUntil, now);
    this.#warn("The limiter failed; it is called again in a second.", error);
  }

  #warn(message: string, error: unknown): void {
    this.#services.events.warn("LIMITER_FAILED", message, error);
  }
}
