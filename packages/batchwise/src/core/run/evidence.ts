// What a batch shows of how long the handler's calls take and of which size it bears, for what is learned of them; and
// what failed it.

import type { Entry } from "../queue/entry.ts";

export class Evidence {
  /** When the last call began, after the opening and a pause before it; later by as long as it was held for a slot. */
  calledAt: number;
  /** How long the last call took; undefined where the handler was not called, or did not end it. */
  callMs: number | undefined = undefined;
  /** True where the last call was for a part of the batch's items. */
  isPart = false;
  /** True once the batch has failed as a whole and is called in halves. */
  isSplit = false;
  /** True once a half has failed, too. */
  hasFailedHalf = false;
  /** True once the batch has failed as a whole, after all attempts, and the error, which may be undefined. */
  hasFailed = false;
  error: unknown;
  /** True once its last caller has left without an answer. */
  isDeserted = false;
  /** Callers whose deadline passed while it ran, and the longest time that one of them had since its item was queued. */
  #expired = 0;
  #longestTimeoutMs = 0;

  constructor(startedAt: number) {
    this.calledAt = startedAt;
  }

  /** Notes that the last call was held so long, prepared, for a slot. */
  noteHeld(ms: number): void {
    this.calledAt += ms;
  }

  /** Notes that callers have got this error for all of the last call. */
  noteFailure(error: unknown): void {
    if (this.isSplit) {
      this.hasFailedHalf = true;
      return;
    }
    this.hasFailed = true;
    this.error = error;
  }

  /** Notes an entry whose last caller has left, who had until `dueAt`; Infinity where there was no deadline. */
  noteLeft({ moment }: Entry, dueAt: number, now: number): void {
    if (now < dueAt) return;
    this.#expired += 1;
    this.#longestTimeoutMs = Math.max(this.#longestTimeoutMs, dueAt - moment.at);
  }

  /**
   * True for a call that was longer than deadlines allow: at least half of `size` callers expired, and it took more than
   * half of the time that they had. The other half goes by while the batch before it runs.
   */
  outranDeadlines(size: number, callMs: number): boolean {
    return 2 * this.#expired >= size && 2 * callMs > this.#longestTimeoutMs;
  }
}
