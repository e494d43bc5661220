// Schedules the next look of a waiting batcher: at a time, by its one timer; or, if items are held
// without a time (`maxWaitMs: Infinity`, or a pause), when the process is about to end. Both are
// off while nothing waits.

import type { Services } from "../submit/services.ts";
import { beforeExit } from "../time/before-exit.ts";
import { Timer } from "../time/clock.ts";
import type { NextBatch } from "./next-batch.ts";
import { warnOfHeldItems } from "./warnings.ts";

/** The scheduler, which looks at the queue. */
export interface Woken {
  again(): void;
  flush(key: string | undefined, done: () => void): void;
}

export class WakeUp {
  readonly #woken: Woken;
  readonly #services: Services;
  readonly #next: NextBatch;
  /** Created when first needed. */
  #timer: Timer | null = null;
  #stopHolding: (() => void) | null = null;
  #hasWarnedOfPause = false;

  constructor(woken: Woken, services: Services, next: NextBatch) {
    this.#woken = woken;
    this.#services = services;
    this.#next = next;
  }

  /** Sets the time of the next look. Infinity: none, or before exit if items are held. */
  set(at: number, now: number): void {
    if (at < Infinity) this.#timer ??= new Timer(this.#services.clock, () => this.#woken.again());
    this.#timer?.set(at, now);
    if (at === Infinity && this.#holdsItems) this.#stopHolding ??= beforeExit(() => this.#sendHeld());
    else this.#letGo();
  }

  clear(): void {
    this.#timer?.clear();
    this.#letGo();
  }

  /** True if only a flush, `close()` or another submit sends the waiting items. */
  get #holdsItems(): boolean {
    return this.#services.queue.size > 0 && (this.#next.maxWaitMs === Infinity || this.#next.isFlushOnly);
  }

  /** The process is about to end: sends items held for `flush()` or `close()`, unless paused. */
  #sendHeld(): void {
    const isPaused = this.#next.isFlushOnly;
    if (isPaused && this.#hasWarnedOfPause) return;
    this.#hasWarnedOfPause = isPaused;
    warnOfHeldItems(this.#services.queue.size, isPaused, this.#services.events);
    if (!isPaused) this.#woken.flush(undefined, () => {});
    // Answers without the event loop may bring more held items; then the process comes here again.
    setTimeout(() => {}, 0);
  }

  #letGo(): void {
    this.#stopHolding?.();
    this.#stopHolding = null;
  }
}
