// Measures how long others have waited for the callers of a batch who do not read. After
// `maxStallMs` those callers' streams are ended. Time in which no one waits does not count, and
// needs no timer.

import { type Clock, Timer } from "../core/time/clock.ts";
import type { StreamItem } from "./stream-item.ts";

/** Another caller of the same batch, who may wait for a chunk. */
type BatchMate = Pick<StreamItem<unknown, unknown>, "isWaiting" | "waitsSince">;

export interface StallServices {
  readonly clock: Clock;
  readonly maxStallMs: number;
  /**
   * State of the queue's wait for a slot that a batch holds: ms since its oldest item came, if a
   * batch could go now; negative if a batch can go only in that many ms; -Infinity if none can.
   */
  slotWaitMs(): number;
  /** Batches that wait for their readers; checked in each step of the batcher. */
  readonly stalls: Set<Stall>;
}

export class Stall {
  readonly #services: StallServices;
  readonly #mates: Iterable<BatchMate>;
  readonly #since: number;
  readonly #timer: Timer;
  /** Time from which the queue wants a slot; Infinity if it does not. May be in the future. */
  #slotWantedAt: number;

  /**
   * `since`: when the batch began to wait for its readers. `end` is called when others have waited
   * too long.
   */
  constructor(services: StallServices, since: number, mates: Iterable<BatchMate>, end: () => void) {
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

  /** Call when a caller or the queue may have begun to wait. */
  look(): void {
    const { clock, maxStallMs } = this.#services;
    if (maxStallMs === Infinity) return;
    const now = clock.now();
    this.#timer.set(now + maxStallMs - this.#waitedMs(now), now);
  }

  /** Call when the batch continues. */
  over(): void {
    this.#services.stalls.delete(this);
    this.#timer.clear();
  }

  /**
   * Longest wait of another caller or the queue since the batch stopped; negative if a wait begins
   * only in that many ms, -Infinity if none does.
   */
  #waitedMs(now: number): number {
    const stalledMs = now - this.#since;
    let longest = Math.min(stalledMs, this.#queueWaitedMs(now));
    for (const { isWaiting, waitsSince } of this.#mates) {
      if (isWaiting) longest = Math.max(longest, Math.min(stalledMs, now - waitsSince));
    }
    return longest;
  }

  /** An item may arrive long before a batch could take it. */
  #queueWaitedMs(now: number): number {
    const waitMs = this.#services.slotWaitMs();
    this.#slotWantedAt = waitMs < 0 ? now - waitMs : Math.min(this.#slotWantedAt, now);
    return Math.min(waitMs, now - this.#slotWantedAt);
  }
}
