// The time that others have waited for the callers of a batch who do not read. When somebody has waited `maxStallMs`, those
// callers are ended. Time in which nobody waits does not count, and needs no timer.

import type { Clock } from "../core/time/clock.ts";

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
  /** How long the queue has waited for a slot that batches hold; -1 where it does not. */
  queueWaitMs(): number;
  /** The batches that wait for their readers: each submit looks at them. */
  readonly stalls: Set<Stall>;
}

export class Stall {
  readonly #services: StallServices;
  readonly #mates: () => Iterable<BatchMate>;
  readonly #end: () => void;
  readonly #since: number;
  #timer: unknown = undefined;

  /** `since`: when the batch began to wait for its readers. `end` is called when somebody has waited too long. */
  constructor(services: StallServices, since: number, mates: () => Iterable<BatchMate>, end: () => void) {
    this.#services = services;
    this.#mates = mates;
    this.#end = end;
    this.#since = since;
    services.stalls.add(this);
    this.look();
  }

  /** To be called when somebody may have begun to wait. */
  look(): void {
    const { clock, maxStallMs } = this.#services;
    if (this.#timer !== undefined || maxStallMs === Infinity) return;
    const waitedMs = this.#waitedMs();
    if (waitedMs < 0) return;
    const ring = (): void => {
      this.#timer = undefined;
      if (this.#waitedMs() >= maxStallMs) this.#end();
      else this.look();
    };
    this.#timer = clock.setTimeout(ring, Math.max(0, maxStallMs - waitedMs));
  }

  /** The batch goes on. */
  over(): void {
    this.#services.stalls.delete(this);
    if (this.#timer !== undefined) this.#services.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** The longest that anybody who waits now has waited since the batch stands still; -1 where nobody waits. */
  #waitedMs(): number {
    const now = this.#services.clock.now();
    const stalledMs = now - this.#since;
    let longest = Math.min(stalledMs, this.#services.queueWaitMs());
    for (const { isWaiting, waitsSince } of this.#mates()) {
      if (isWaiting) longest = Math.max(longest, Math.min(stalledMs, now - waitsSince));
    }
    return longest;
  }
}
