// The AbortSignals of callers. Adds one listener per signal, however many streams share it: one per
// stream takes quadratic time, and old runtimes warn about it. The listener is removed with the
// signal's last stream.

import { reasonOf } from "../core/submit/abort-signals.ts";

/** Called with the signal's reason when it aborts. */
export type Abort = (reason: unknown) => void;

export class CallerSignals {
  readonly #bySignal: Map<AbortSignal, SharedSignal> = new Map();

  /**
   * Calls `abort` when the signal aborts, or at once if it has. Returns a function that stops
   * following.
   */
  follow(signal: AbortSignal, abort: Abort): () => void {
    if (signal.aborted) {
      abort(reasonOf(signal));
      return () => {};
    }
    const shared = this.#bySignal.get(signal) ?? new SharedSignal(signal);
    this.#bySignal.set(signal, shared);
    shared.aborts.add(abort);
    return () => {
      shared.aborts.delete(abort);
      if (shared.aborts.size > 0 || this.#bySignal.get(signal) !== shared) return;
      this.#bySignal.delete(signal);
      shared.end();
    };
  }
}

class SharedSignal {
  readonly aborts: Set<Abort> = new Set();
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", this.#aborted);
  }

  /**
   * Removes the listener. The callers have their answers, so an error thrown by a user's own signal
   * is ignored.
   */
  end(): void {
    try {
      this.#signal.removeEventListener("abort", this.#aborted);
    } catch {
      return;
    }
  }

  readonly #aborted = (): void => {
    const reason = reasonOf(this.#signal);
    for (const abort of [...this.aborts]) abort(reason);
  };
}
