// The calls of `flush()` that have not settled. Each counts what it covers: entries that wait, and batches that run or
// pause. What is submitted later is not covered, so each covers moments up to one.

import type { Moment } from "../time/turn.ts";
import type { Entry } from "./entry.ts";

/** A batch that pauses before another call: a flush waits for it, too. */
export interface FlushedBatch {
  flushes: readonly Flush[];
}

const NONE: readonly Flush[] = [];

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

export class Flushes {
  #open: readonly Flush[] = NONE;

  get isEmpty(): boolean {
    return this.#open.length === 0;
  }

  /** Adds one, which also waits for batches that pause. */
  add(flush: Flush, resting: readonly FlushedBatch[]): void {
    this.#open = [...this.#open, flush];
    for (const batch of resting) {
      flush.batchStarted();
      batch.flushes = [...batch.flushes, flush];
    }
    this.dropDone();
  }

  entryLeft(moment: Moment, lane: object): void {
    for (const flush of this.#open) if (flush.covers(moment, lane)) flush.entryLeft();
  }

  /** A batch of these entries starts. Returns those that wait for it. */
  batchStarted(lane: object, entries: readonly Entry[]): readonly Flush[] {
    if (this.isEmpty) return NONE;
    const flushes = this.#open.filter((flush) => entries.some(({ moment }) => flush.covers(moment, lane)));
    for (const flush of flushes) flush.batchStarted();
    return flushes;
  }

  /** A batch has ended for which these wait. */
  batchEnded(flushes: readonly Flush[]): void {
    if (flushes.length === 0) return;
    for (const flush of flushes) flush.batchEnded();
    this.dropDone();
  }

  /** To be called when entries have left. */
  dropDone(): void {
    if (!this.isEmpty) this.#open = this.#open.filter((flush) => !flush.check());
  }
}
