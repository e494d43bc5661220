// Calls of `flush()` that have not settled. A flush covers the entries submitted before it, and
// batches that pause before a retry. A later flush of the same scope covers them too, so each entry
// is counted once, for the first flush.

import type { Entry } from "./entry.ts";

/** The key of the entries; undefined for a flush of all keys. */
type Scope = string | undefined;

/** A batch that pauses before a retry. A flush waits for it too. */
export interface FlushedBatch {
  flushes: readonly Flush[];
}

/** One call of `flush()`. Done when all entries that it covers have settled. */
export class Flush {
  /** Sequence of the last moment that it covers. */
  readonly upTo: number;
  readonly done: () => void;
  /** Waiting entries that no earlier flush of its scope covers. */
  waiting: number;
  /** Running batches with entries that it covers. */
  batches = 0;
  isDone = false;

  constructor(upTo: number, waiting: number, done: () => void) {
    this.upTo = upTo;
    this.waiting = waiting;
    this.done = done;
  }
}

/** The flushes of one scope, in call order. Some may be done. */
class ScopeFlushes {
  #flushes: Flush[] = [];
  /** Index of the first flush that is not done. */
  #first = 0;
  /** Covered entries that wait. */
  #waiting = 0;

  /** `waiting`: the number of the scope's waiting entries. */
  add(upTo: number, waiting: number, done: () => void): Flush {
    const flush = new Flush(upTo, waiting - this.#waiting, done);
    this.#flushes.push(flush);
    this.#waiting = waiting;
    return flush;
  }

  entryLeft(sequence: number): void {
    const flush = this.#flushes[this.#firstOver(sequence)];
    if (flush === undefined) return;
    flush.waiting -= 1;
    this.#waiting -= 1;
  }

  /** The flushes that cover a moment. */
  covering(sequence: number): readonly Flush[] {
    return this.#flushes.slice(this.#firstOver(sequence));
  }

  /** Index of the first flush that covers a moment. */
  #firstOver(sequence: number): number {
    let low = this.#first;
    let high = this.#flushes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#flushes[middle] as Flush).upTo < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Resolves finished flushes. Returns whether all are finished. */
  endDone(): boolean {
    for (let place = this.#first; place < this.#flushes.length; place += 1) {
      const flush = this.#flushes[place] as Flush;
      if (flush.waiting > 0) break;
      if (flush.batches === 0 && !flush.isDone) {
        flush.isDone = true;
        flush.done();
      }
      if (flush.isDone && place === this.#first) this.#first += 1;
    }
    if (2 * this.#first > this.#flushes.length) {
      this.#flushes = this.#flushes.slice(this.#first);
      this.#first = 0;
    }
    return this.#flushes.length === 0;
  }
}

const NONE: readonly Flush[] = [];

export class Flushes {
  /** Created with the first flush. */
  #scopes: Map<Scope, ScopeFlushes> | null = null;

  get isEmpty(): boolean {
    return this.#scopes === null || this.#scopes.size === 0;
  }

  /** Adds a flush for the waiting entries of its scope and for pausing batches. */
  add(scope: Scope, upTo: number, waiting: number, resting: readonly FlushedBatch[], done: () => void): void {
    this.#scopes ??= new Map();
    const ofScope = this.#scopes.get(scope) ?? new ScopeFlushes();
    this.#scopes.set(scope, ofScope);
    const flush = ofScope.add(upTo, waiting, done);
    for (const batch of resting) {
      flush.batches += 1;
      batch.flushes = [...batch.flushes, flush];
    }
    this.#endDone(scope);
  }

  entryLeft(key: string | undefined, sequence: number): void {
    this.#scopes?.get(undefined)?.entryLeft(sequence);
    if (key !== undefined) this.#scopes?.get(key)?.entryLeft(sequence);
  }

  /** Call when a batch of these entries starts. Returns the flushes that wait for it. */
  batchStarted(key: string | undefined, entries: readonly Entry[]): readonly Flush[] {
    if (this.isEmpty) return NONE;
    const first = entries.reduce((least, { moment }) => Math.min(least, moment.sequence), Infinity);
    const ofAll = this.#scopes?.get(undefined)?.covering(first) ?? NONE;
    const ofKey = (key === undefined ? undefined : this.#scopes?.get(key)?.covering(first)) ?? NONE;
    const flushes = [...ofAll, ...ofKey].filter(({ isDone }) => !isDone);
    for (const flush of flushes) flush.batches += 1;
    return flushes;
  }

  /** Call when a batch has ended for which these flushes wait. */
  batchEnded(key: string | undefined, flushes: readonly Flush[]): void {
    if (flushes.length === 0) return;
    for (const flush of flushes) flush.batches -= 1;
    this.endDone(key);
  }

  /** Call when entries of a key have left. */
  endDone(key: string | undefined): void {
    this.#endDone(undefined);
    if (key !== undefined) this.#endDone(key);
  }

  #endDone(scope: Scope): void {
    if (this.#scopes?.get(scope)?.endDone()) this.#scopes.delete(scope);
  }
}
