// The AbortSignals that callers submit with. One listener per signal, however many streams share it: a listener per
// stream is quadratic in the number of streams, and old runtimes warn about it. The listener is removed with the
// signal's last stream.

import { reasonOf } from "../core/submit/abort-signals.ts";

/** Called with the signal's reason when it aborts. `alsoInStep` is to run in the engine's step in which the stream leaves. */
export type Abort = (reason: unknown, alsoInStep: () => void) => void;

export class CallerSignals {
  readonly #bySignal: Map<AbortSignal, SharedSignal> = new Map();

  /** Calls `abort` when the signal aborts, at once where it has. Returns the function that ends this. */
  follow(signal: AbortSignal, abort: Abort): () => void {
    if (signal.aborted) {
      abort(reasonOf(signal), () => {});
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

  /** Removes the listener. The callers are being answered: what a signal of the user's own throws here is ignored. */
  end(): void {
    try {
      this.#signal.removeEventListener("abort", this.#aborted);
    } catch {
      return;
    }
  }

  /** All streams leave in one step of the engine: none is sent in the room that another one makes. */
  readonly #aborted = (): void => {
    const reason = reasonOf(this.#signal);
    const aborts = [...this.aborts];
    const last = aborts.pop();
    last?.(reason, () => {
      for (const abort of aborts) abort(reason, () => {});
    });
  };
}
