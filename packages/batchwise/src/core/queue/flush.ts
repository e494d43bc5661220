/** One call of `flush()`: done when all that waited then has settled. */
export class Flush {
  readonly #epoch: number;
  readonly #done: () => void;
  waiting: number;
  #batches = 0;

  constructor(epoch: number, waiting: number, done: () => void) {
    this.#epoch = epoch;
    this.waiting = waiting;
    this.#done = done;
  }

  covers(epoch: number): boolean {
    return epoch <= this.#epoch;
  }

  batchStarted(): void {
    this.#batches += 1;
  }

  batchEnded(): void {
    this.#batches -= 1;
  }

  /** Reports and returns whether all has settled. */
  check(): boolean {
    if (this.waiting > 0 || this.#batches > 0) return false;
    this.#done();
    return true;
  }
}
