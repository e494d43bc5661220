// The time that one `runDue` has. Its calls end a little before that time does, so that what they
// did is written within it. Loops that run until they are stopped have no budget.

import type { DispatchClock } from "../contract/dispatcher-options.ts";

/** Kept for the last writes: a tenth of the time, and at most so long. */
const MOST_KEPT_MS = 1_000;
/**
 * A create is not begun with less than this share of the time, or with less than 2 s of a long one.
 */
const CREATE_SHARE = 0.1;
const MOST_FOR_CREATE_MS = 2_000;
/** With this share of the working time left, a step has had a run to itself. */
const WHOLE_SHARE = 0.8;
/** With this share of the time, an upload was cut off for its own speed. */
const FAIR_SHARE = 0.25;

export class Budget {
  /** How long the calls of a run may take together. */
  readonly wholeMs: number;
  readonly #clock: Pick<DispatchClock, "monotonic">;
  readonly #endAt: number;
  readonly #cutAt: number;
  readonly #cut: AbortController = new AbortController();
  #workMs: number | null = null;

  constructor(clock: Pick<DispatchClock, "monotonic">, maxMs: number) {
    const now = clock.monotonic();
    this.#clock = clock;
    this.wholeMs = maxMs - Math.min(maxMs / 10, MOST_KEPT_MS);
    this.#endAt = now + maxMs;
    this.#cutAt = now + this.wholeMs;
  }

  /** Remaining time of calls. */
  get leftMs(): number {
    return Math.max(0, this.#cutAt - this.#clock.monotonic());
  }

  /** Remaining time of the run, with its last writes. */
  get endsInMs(): number {
    return Math.max(0, this.#endAt - this.#clock.monotonic());
  }

  /** Called when the store has answered. A database may need seconds to wake up. */
  storeAnswered(): void {
    this.#workMs ??= this.leftMs;
  }

  /** Time of calls from the first answer of the store on. */
  get workMs(): number {
    return this.#workMs ?? this.wholeMs;
  }

  /** False where a create would be cut off rather than answered. */
  get mayCreate(): boolean {
    return this.leftMs > Math.min(this.wholeMs * CREATE_SHARE, MOST_FOR_CREATE_MS);
  }

  /** True for a step with so much time that a later run gives it no more. */
  isWhole(ms: number): boolean {
    return ms >= this.workMs * WHOLE_SHARE;
  }

  /** True for an upload with so much time that its speed counts. */
  isFair(ms: number): boolean {
    return ms >= this.wholeMs * FAIR_SHARE;
  }

  /** True when calls must end, including creates. A call that fails then is not a failed call. */
  get isCut(): boolean {
    return this.#cut.signal.aborted;
  }

  /** Aborted when calls must end, including creates: this is their limit, not a timer of each. */
  get signal(): AbortSignal {
    return this.#cut.signal;
  }

  cut(reason: unknown): void {
    this.#cut.abort(reason);
  }
}
