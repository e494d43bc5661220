// The lines of one pass over a batch's results that say that a request failed. They are held until all lines are read: a
// provider that runs a request again by itself gives a line of each run, and the success counts wherever it stands.

import type { Settlement } from "../../contract/outcome-rows.ts";

/** Characters of failures that are held; beyond these they are settled before all is read. */
const MOST_CHARS = 16_000_000;

export class HeldFailures {
  /** By place. */
  readonly #held: Map<number, Settlement> = new Map();
  readonly #succeeded: Set<number> = new Set();
  #chars = 0;

  get isFull(): boolean {
    return this.#chars >= MOST_CHARS;
  }

  /** The request at this place has an answer: no failure of it counts. */
  succeeded(ord: number): void {
    this.#succeeded.add(ord);
    this.#held.delete(ord);
  }

  /** The first failure of a request counts. */
  hold(failure: Settlement): void {
    if (this.#succeeded.has(failure.ord) || this.#held.has(failure.ord)) return;
    this.#held.set(failure.ord, failure);
    this.#chars += failure.kind === "final" ? failure.payload.length : 0;
  }

  /** Those held by now, which are not held any more. */
  take(): readonly Settlement[] {
    const taken = [...this.#held.values()];
    this.#held.clear();
    this.#chars = 0;
    return taken;
  }
}
