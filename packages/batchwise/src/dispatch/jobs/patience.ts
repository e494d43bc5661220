// Lets a run outlast a store that is away for a while, as the dispatcher's loops do. A store that has never answered the
// run is not waited for: that is told at once.

import { DispatchError } from "../contract/errors.ts";
import { backoff } from "../decide/backoff.ts";
import type { Runtime } from "../runtime/runtime.ts";

const FIRST_PAUSE_MS = 500;
const LAST_PAUSE_MS = 30_000;
/** Of pauses in a row: two and a half minutes in all. */
const MOST_PAUSES = 9;
/** Failures that are further apart are not in a row. */
const IN_A_ROW_MS = 120_000;

export class Patience {
  readonly #runtime: Runtime;
  readonly #hasWorked: () => boolean;
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(runtime: Runtime, hasWorked: () => boolean) {
    this.#runtime = runtime;
    this.#hasWorked = hasWorked;
  }

  /** Resolves after a pause when another try makes sense; else throws the error. Ends early when the dispatcher stops. */
  async orThrow(error: unknown): Promise<void> {
    const now = this.#runtime.clock.monotonic();
    this.#failures = now - this.#failedAt > IN_A_ROW_MS ? 1 : this.#failures + 1;
    this.#failedAt = now;
    const isAway = error instanceof DispatchError && error.code === "STORE_UNAVAILABLE" && this.#hasWorked();
    if (!isAway || this.#failures > MOST_PAUSES) throw error;
    this.#runtime.reportShared(error, { operation: "store" });
    await pause(this.#runtime, backoff(FIRST_PAUSE_MS, LAST_PAUSE_MS, this.#failures));
    if (this.#runtime.isStopping) throw error;
  }
}

/** Waits so long, or until the dispatcher stops. */
export function pause({ clock, stopping: { signal } }: Runtime, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clock.clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.setTimeout(done, ms);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}
