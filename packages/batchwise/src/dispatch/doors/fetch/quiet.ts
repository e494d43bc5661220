// Calls `onQuiet` once with the lanes of recent calls when no new call has come for `afterMs`, or
// when the oldest has waited for a minute. Its timer ends with the dispatcher, so that it holds no
// process.

import { onAbort } from "../../runtime/provider-calls.ts";
import type { SteadyClock } from "../../runtime/steady-clock.ts";

const LONGEST_WAIT_MS = 60_000;
/** Longest delay of a platform timer, in ms. A longer one fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class Quiet {
  readonly #clock: Pick<SteadyClock, "monotonic" | "setTimeout" | "clearTimeout">;
  readonly #afterMs: number;
  readonly #stopping: AbortSignal;
  readonly #onQuiet: (lanes: readonly string[]) => void;
  readonly #lanes = new Set<string>();
  /** When `onQuiet` runs at the latest; `#quietAt`: when it runs unless another call comes. */
  #latestAt = 0;
  #quietAt = 0;
  #isWaiting = false;

  /** With `afterMs` Infinity, `onQuiet` is never called. */
  constructor(
    clock: Pick<SteadyClock, "monotonic" | "setTimeout" | "clearTimeout">,
    afterMs: number,
    stopping: AbortSignal,
    onQuiet: (lanes: readonly string[]) => void,
  ) {
    this.#clock = clock;
    this.#afterMs = afterMs;
    this.#stopping = stopping;
    this.#onQuiet = onQuiet;
  }

  note(lane: string): void {
    if (this.#afterMs === Number.POSITIVE_INFINITY || this.#stopping.aborted) return;
    const now = this.#clock.monotonic();
    if (this.#lanes.size === 0) this.#latestAt = now + Math.max(LONGEST_WAIT_MS, this.#afterMs);
    this.#lanes.add(lane);
    this.#quietAt = Math.min(now + this.#afterMs, this.#latestAt);
    if (!this.#isWaiting) this.#wait(now);
  }

  /** Sets the one timer. Later calls do not add timers. */
  #wait(now: number): void {
    this.#isWaiting = true;
    const timer = this.#clock.setTimeout(
      () => {
        forget();
        this.#look();
      },
      Math.min(this.#quietAt - now, LONGEST_TIMER_MS),
    );
    const forget = onAbort([this.#stopping], () => this.#clock.clearTimeout(timer));
  }

  #look(): void {
    const now = this.#clock.monotonic();
    if (now < this.#quietAt) {
      this.#wait(now);
      return;
    }
    this.#isWaiting = false;
    const lanes = [...this.#lanes];
    this.#lanes.clear();
    this.#onQuiet(lanes);
  }
}
