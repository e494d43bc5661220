// Schedules the next look of a waiting batcher: at a time, by its one timer; or, if items are held
// without a time (`maxWaitMs: Infinity`, or a pause), when the process is about to end. Both are
// off while nothing waits.

import { beforeExit } from "../time/before-exit.ts";
import { type Clock, Timer } from "../time/clock.ts";

export class WakeUp {
  readonly #clock: Clock;
  readonly #again: () => void;
  readonly #onExit: () => void;
  /** Created when first needed. */
  #timer: Timer | null = null;
  #stopHolding: (() => void) | null = null;

  /** `again` is called at the set time; `onExit` at the end of the process while items are held. */
  constructor(clock: Clock, again: () => void, onExit: () => void) {
    this.#clock = clock;
    this.#again = again;
    this.#onExit = onExit;
  }

  /**
   * Sets the time of the next look. Infinity: none; then `isHeld` says whether items are held until
   * the process ends.
   */
  set(at: number, now: number, isHeld: boolean): void {
    if (at < Infinity) this.#timer ??= new Timer(this.#clock, this.#again);
    this.#timer?.set(at, now);
    if (isHeld && at === Infinity) this.#stopHolding ??= beforeExit(this.#onExit);
    else this.#letGo();
  }

  clear(): void {
    this.#timer?.clear();
    this.#letGo();
  }

  #letGo(): void {
    this.#stopHolding?.();
    this.#stopHolding = null;
  }
}
