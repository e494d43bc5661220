// Learns from failures how large batches may be: a provider's limit of inputs, a GPU's memory, or a
// time limit. After a larger one has failed, batches keep to the largest size that succeeded, then
// go half-way to the one that failed, as long as there is much between them. Larger ones are tried
// rarely. A size that has succeeded may fail later, since limits fall, too: then smaller ones are
// tried, down to a single item. If that fails as well, it is not the size: batches go back to the
// largest size that succeeded, because the limit is still there after an outage.

/** After a failure for size a larger batch is tried later and later: in this many batches. */
const [FIRST_PAUSE, LONGEST_PAUSE] = [4, 256];
/** A failure was chance if a batch of LIKE of its cost succeeds, or MANY of at least half of it. */
const [LIKE, MANY] = [0.9, 16];
/** A size is not tried half-way to one that failed if it is at most this many times as large. */
const NEAR = 1.1;

export class FailedSizes {
  /** The largest cost that has succeeded, lately if such batches fail now. */
  largest = 0;
  /** The largest cost that may run. */
  safe: number = Infinity;
  /**
   * The cost of the last failure of a size that had succeeded. 0: such a size has succeeded since,
   * or many of at least half, or all sizes fail.
   */
  #failed = 0;
  /** Batches of at least half of that cost that have succeeded since. */
  #others = 0;
  /** The lowest cost that failed and was larger than all that had succeeded. */
  #tooLarge = Infinity;
  /** Sizes that had succeeded fail, and no smaller one has succeeded since. */
  #isFalling = false;
  #batches = 0;
  #pause = FIRST_PAUSE;

  failed(cost: number, size: number): void {
    this.#batches += 1;
    // Batches of other slots began before the cap fell.
    if (size > 1 && cost > this.safe) return;
    if (cost > this.largest) {
      this.safe = this.largest || cost / 2;
      this.#tooLarge = Math.min(this.#tooLarge, cost);
      this.#batches = 0;
      if (this.largest > 0) this.#pause = Math.min(LONGEST_PAUSE, 4 * this.#pause);
      return;
    }
    // One failure may be chance, and says nothing of much larger or smaller batches.
    const isAgain = cost <= 2 * this.#failed && this.#failed <= 2 * cost;
    this.#failed = cost;
    this.#others = 0;
    if (!isAgain && !this.#isFalling) return;
    this.#isFalling = size > 1;
    if (size > 1) [this.safe, this.#batches] = [cost / 2, 0];
    else [this.safe, this.#failed] = [this.largest || Infinity, 0];
  }

  succeeded(cost: number): void {
    this.#batches += 1;
    if (this.#isFalling && 2 * cost >= this.safe) {
      [this.largest, this.#failed] = [cost, 0];
      this.#isFalling = false;
    } else if (this.largest === 0 || this.#batches >= this.#pause) this.safe = Infinity;
    if (cost > this.largest) this.#pause = FIRST_PAUSE;
    this.largest = Math.max(this.largest, cost);
    if (this.largest >= this.#tooLarge) this.#tooLarge = Infinity;
    const halfWay = (this.largest + this.#tooLarge) / 2;
    if (this.safe < Infinity && !this.#isFalling && halfWay > NEAR * this.largest) this.safe = halfWay;
    if (2 * cost >= this.#failed) this.#others += 1;
    if (cost >= LIKE * this.#failed || this.#others >= MANY) this.#failed = 0;
  }
}
