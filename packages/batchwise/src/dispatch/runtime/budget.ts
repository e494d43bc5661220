// The time that one `runDue` has. Its calls end a little before that time does, so that what they
// did is written within it. Loops that run until they are stopped have no budget.

import type { DispatchClock } from "../options/dispatcher-options.ts";

/** Kept for the last writes: a tenth of the time, and at most so long. */
const MOST_KEPT_MS = 1_000;
/**
 * A create is not begun with less than this share of the time, or with less than 2 s of a long one.
 */
const CREATE_SHARE = 0.1;
const MOST_FOR_CREATE_MS = 2_000;
/** With this share of the time left, a step has had a run to itself. */
const WHOLE_SHARE = 0.8;

export class Budget {
  /** How long the calls of the run may take together. */
  readonly wholeMs: number;
  readonly #clock: Pick<DispatchClock, "monotonic">;
  readonly #cutAt: number;
  readonly #cut: AbortController = new AbortController();

  constructor(clock: Pick<DispatchClock, "monotonic">, maxMs: number) {
    this.#clock = clock;
    this.wholeMs = maxMs - Math.min(maxMs / 10, MOST_KEPT_MS);
    this.#cutAt = clock.monotonic() + this.wholeMs;
  }

  /** What is left for calls. */
  get leftMs(): number {
    return Math.max(0, this.#cutAt - this.#clock.monotonic());
  }

  /** False where a create would be cut off rather than answered. */
  get mayCreate(): boolean {
    return this.leftMs > Math.min(this.wholeMs * CREATE_SHARE, MOST_FOR_CREATE_MS);
  }

  /** True for a step that began with so much left that a later run gives it no more. */
  isWhole(leftMs: number): boolean {
    return leftMs >= this.wholeMs * WHOLE_SHARE;
  }

  /** Aborted when calls must end at once, creates too. */
  get signal(): AbortSignal {
    return this.#cut.signal;
  }

  cut(reason: unknown): void {
    this.#cut.abort(reason);
  }
}
