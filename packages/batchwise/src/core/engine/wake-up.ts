// Schedules the next look of a waiting batcher: at the end of the event loop's pass; at a time, by
// its one timer; or, if items are held without a time (`maxWaitMs: Infinity`, or a pause), when the
// process is about to end. The last two are off while nothing waits.

import type { Services } from "../submit/services.ts";
import { beforeExit } from "../time/before-exit.ts";
import { systemClock, Timer } from "../time/clock.ts";
import { endOfPass } from "../time/turn.ts";
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
  #waitsForPass = false;

  constructor(woken: Woken, services: Services, next: NextBatch) {
    this.#woken = woken;
    this.#services = services;
    this.#next = next;
  }

  /** Looks again at the end of the event loop's pass. */
  afterPass(): void {
    if (this.#waitsForPass) return;
    this.#waitsForPass = true;
    const { options, clock, queue } = this.#services;
    const ended = (): void => {
      this.#waitsForPass = false;
      this.#woken.again();
      if (queue.size > 0) this.#next.passedAt = clock.now();
    };
    if (options.clock === systemClock) endOfPass(ended);
    else options.clock.setImmediate?.(ended);
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
    return this.#services.queue.size > 0 && (this.#next.maxWaitMs === Infinity || this.#next.isPaused);
  }

  /** The process is about to end: sends items held for `flush()` or `close()`, unless paused. */
  #sendHeld(): void {
    const { isPaused } = this.#next;
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
