/** One call of `flush()`: done when all that waited then has settled. */
export class Flush {
  /** It covers the entries up to this epoch, of this lane or of all. */
  readonly #epoch: number;
  readonly #lane: object | null;
  readonly #done: () => void;
  #waiting: number;
  #batches = 0;

  constructor(epoch: number, lane: object | null, waiting: number, done: () => void) {
    this.#epoch = epoch;
    this.#lane = lane;
    this.#waiting = waiting;
    this.#done = done;
  }

  covers(epoch: number, lane: object): boolean {
    return epoch <= this.#epoch && (this.#lane === null || this.#lane === lane);
  }

  entryLeft(): void {
    this.#waiting -= 1;
  }

  batchStarted(): void {
    this.#batches += 1;
  }

  batchEnded(): void {
    this.#batches -= 1;
  }

  /** Reports and returns whether all has settled. */
  check(): boolean {
    if (this.#waiting > 0 || this.#batches > 0) return false;
    this.#done();
    return true;
  }
}
