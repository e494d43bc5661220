// Notices when batches of sizes that were slow have become fast. In overload the rule runs no batch
// that it expects to be late, so a wrong time of larger batches would never be corrected. Rarely,
// one batch up to twice as large as the latest ones runs nevertheless. If it is much faster than
// expected, the times of all larger batches are out of date.

/** The first trial comes after this many batches a slot. Each one in vain doubles the number. */
const [FIRST_PAUSE, LONGEST_PAUSE] = [256, 4_096];
/** How fast the largest cost of the latest batches is forgotten. */
const KEPT = 0.98;
/** A trial is at least this many times as large. */
const LARGER = 1.2;
/** A trial that takes less than this part of the expected time is fast. */
const FAST = 0.7;

export class SlowSizes {
  /** The largest cost of the latest batches. */
  largest = 0;
  #batches = 0;
  #pause = FIRST_PAUSE;

  /** The cost that the next batch may have, however slow it may be; 0 if there is none. */
  trial(slots: number): number {
    return this.#batches >= this.#pause * slots ? 2 * this.largest : 0;
  }

  /** Call for each batch that ended in overload. True if it was a trial that was fast. */
  record(cost: number, ms: number, expectedMs: number, slots: number): boolean {
    const isTrial = this.trial(slots) > 0 && cost > LARGER * this.largest;
    if (!isTrial) {
      this.#batches += 1;
      this.largest = Math.max(cost, KEPT * this.largest);
      return false;
    }
    const isFast = ms < FAST * expectedMs;
    this.#batches = 0;
    this.#pause = isFast ? FIRST_PAUSE : Math.min(2 * this.#pause, LONGEST_PAUSE);
    return isFast;
  }
}
