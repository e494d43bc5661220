import type { Moment } from "../time/turn.ts";

/** One call of `flush()`: done when all that waited then has settled. */
export class Flush {
  /** It covers the moments up to this sequence, of this lane or of all. */
  readonly #upTo: number;
  readonly #lane: object | null;
  readonly #done: () => void;
  #waiting: number;
  #batches = 0;

  constructor(upTo: number, lane: object | null, waiting: number, done: () => void) {
    this.#upTo = upTo;
    this.#lane = lane;
    this.#waiting = waiting;
    this.#done = done;
  }

  covers({ sequence }: Moment, lane: object): boolean {
    return sequence <= this.#upTo && (this.#lane === null || this.#lane === lane);
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
