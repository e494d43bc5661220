// A call of `flush()` covers the entries submitted before it, and batches that pause before a
// retry. In each lane it marks the entries that no earlier flush covers, so that each is counted
// once. A mark is done when it and all earlier ones of the lane are.

import type { Entry } from "./entry.ts";

/** A batch that pauses before a retry. A flush waits for it too. */
export interface FlushedBatch {
  flushes: readonly Flush[];
}

/** One call of `flush()`. */
export class Flush {
  /** Sequence of the last moment that it covers. */
  readonly upTo: number;
  readonly #done: () => void;
  /** Lanes and batches with entries that it covers, and 1 until all of them are counted. */
  #awaited = 1;

  /** `done` is called when all entries that it covers have settled. */
  constructor(upTo: number, done: () => void) {
    this.upTo = upTo;
    this.#done = done;
  }

  await(): void {
    this.#awaited += 1;
  }

  /** Call when one that it awaits is done. */
  release(): void {
    this.#awaited -= 1;
    if (this.#awaited === 0) this.#done();
  }
}

/** Shared by all batches that no flush covers. */
export const NO_FLUSHES: readonly Flush[] = [];

/** The flushes of a lane. */
export class Marks {
  /** In call order, with the numbers of covered entries that wait. */
  readonly #marks: { readonly flush: Flush; waiting: number }[] = [];
  /** How many of the first ones are done. */
  #done = 0;
  /** How many covered entries wait. */
  waiting = 0;

  /** Sequence of the last covered moment. */
  get upTo(): number {
    return this.#marks.at(-1)?.flush.upTo ?? -1;
  }

  /** `size`: the number of the lane's waiting entries, which the flush covers. */
  add(flush: Flush, size: number): void {
    flush.await();
    this.#marks.push({ flush, waiting: size - this.waiting });
    this.waiting = size;
  }

  /** Call when an entry leaves. */
  left({ moment: { sequence } }: Entry): void {
    const mark = this.#marks[this.#firstOver(sequence)];
    if (mark === undefined) return;
    mark.waiting -= 1;
    this.waiting -= 1;
  }

  /** Call after entries have left. Returns true if no covered entry is left. */
  release(): boolean {
    for (let mark = this.#marks[this.#done]; mark?.waiting === 0; mark = this.#marks[this.#done]) {
      this.#done += 1;
      mark.flush.release();
    }
    // Not each time: it moves the others.
    if (this.#done * 2 > this.#marks.length) {
      this.#marks.splice(0, this.#done);
      this.#done = 0;
    }
    return this.#marks.length === 0;
  }

  /** The flushes that await a batch of these entries from now on. */
  batchStarted(entries: readonly Entry[]): readonly Flush[] {
    const first = entries.reduce((least, { moment }) => Math.min(least, moment.sequence), Infinity);
    const flushes = this.#marks.slice(this.#firstOver(first)).map(({ flush }) => flush);
    for (const flush of flushes) flush.await();
    return flushes;
  }

  /** Index of the first flush that covers a moment. */
  #firstOver(sequence: number): number {
    let low = this.#done;
    let high = this.#marks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#marks[middle] as { flush: Flush }).flush.upTo < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
