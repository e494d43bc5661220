// The time that others have waited for the callers of a batch who do not read. When somebody has
// waited `maxStallMs`, those callers are ended. Time in which nobody waits does not count, and
// needs no timer.

import { type Clock, Timer } from "../core/time/clock.ts";

/** Somebody of the same batch who may wait for a chunk. */
export interface BatchMate {
  /** True while its reader waits for a chunk. */
  readonly isWaiting: boolean;
  /** When that began. */
  waitsSince: number;
}

export interface StallServices {
  readonly clock: Clock;
  readonly maxStallMs: number;
  /**
   * How the queue waits for a slot that a batch holds: how many ms ago its oldest item came, where
   * a batch could go; below 0 where a batch can only go in so many ms, -Infinity where none can.
   */
  slotWaitMs(): number;
  /** The batches that wait for their readers: each step of the batcher looks at them. */
  readonly stalls: Set<Stall>;
}

export class Stall {
  readonly #services: StallServices;
  readonly #mates: () => Iterable<BatchMate>;
  readonly #since: number;
  readonly #timer: Timer;
  /** Since when the queue wants a slot; Infinity where it does not. It may be a time to come. */
  #slotWantedAt: number;

  /**
   * `since`: when the batch began to wait for its readers. `end` is called when somebody has waited
   * too long.
   */
  constructor(services: StallServices, since: number, mates: () => Iterable<BatchMate>, end: () => void) {
    this.#services = services;
    this.#mates = mates;
    this.#since = since;
    this.#slotWantedAt = since;
    this.#timer = new Timer(services.clock, () => {
      if (this.#waitedMs(services.clock.now()) >= services.maxStallMs) end();
      else this.look();
    });
    services.stalls.add(this);
    this.look();
  }

  /** To be called when somebody may have begun to wait. */
  look(): void {
    const { clock, maxStallMs } = this.#services;
    if (maxStallMs === Infinity) return;
    const now = clock.now();
    this.#timer.set(now + maxStallMs - this.#waitedMs(now), now);
  }

  /** The batch goes on. */
  over(): void {
    this.#services.stalls.delete(this);
    this.#timer.clear();
  }

  /**
   * The longest that anybody who waits now has waited since the batch stands still; below 0 where
   * somebody will only wait in so many ms, -Infinity where nobody will.
   */
  #waitedMs(now: number): number {
    const stalledMs = now - this.#since;
    let longest = Math.min(stalledMs, this.#queueWaitedMs(now));
    for (const { isWaiting, waitsSince } of this.#mates()) {
      if (isWaiting) longest = Math.max(longest, Math.min(stalledMs, now - waitsSince));
    }
    return longest;
  }

  /** An item may have come long before a batch could go with it. */
  #queueWaitedMs(now: number): number {
    const waitMs = this.#services.slotWaitMs();
    this.#slotWantedAt = waitMs < 0 ? now - waitMs : Math.min(this.#slotWantedAt, now);
    return Math.min(waitMs, now - this.#slotWantedAt);
  }
}
