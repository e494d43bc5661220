// The two ways in which a caller leaves before its stream's end, as the one signal that the engine watches for it: the
// reader stops reading, or the caller's own signal aborts. Holds one listener per caller's signal, however many streams
// share it, and lets go of it with the last of them.

import type { SubmitOptions } from "../core/contract/types.ts";
import { type Watch, type Watcher, Watches } from "../core/submit/abort-signals.ts";
import { checkSubmitOptions } from "../core/submit/read-item.ts";

/** One caller's way out. */
export interface Departure {
  /** What to submit with. */
  readonly options: SubmitOptions | undefined;
  /** Takes the item out of the queue, or out of its running batch. */
  leave(): void;
  /** The stream is over: lets go of the caller's signal. */
  end(): void;
}

export class Departures {
  readonly #watches: Watches = new Watches();

  /** Never throws: with options that are not valid, the engine is given some that it refuses for the same reason. */
  open(submit: SubmitOptions | undefined): Departure {
    const leaving = new Leaving();
    try {
      if (submit === undefined) return leaving.with({ signal: leaving.signal });
      checkSubmitOptions(submit);
      const { signal, priority, cost, timeoutMs, key, context } = submit;
      if (signal !== undefined) leaving.follow(signal, this.#watches);
      return leaving.with({ signal: leaving.signal, priority, cost, timeoutMs, key, context });
    } catch (error) {
      return leaving.with(refused(leaving.signal, error));
    }
  }
}

function refused(signal: AbortSignal, error: unknown): SubmitOptions {
  return {
    signal,
    get priority(): never {
      throw error;
    },
  };
}

class Leaving implements Departure, Watcher {
  readonly #controller: AbortController = new AbortController();
  #watch: Watch | null = null;
  watchIndex = 0;
  options: SubmitOptions | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  with(options: SubmitOptions | undefined): this {
    this.options = options;
    return this;
  }

  follow(signal: AbortSignal, watches: Watches): void {
    if (signal.aborted) this.aborted(signal.reason);
    else this.#watch = watches.add(signal, this);
  }

  leave(): void {
    this.#controller.abort();
  }

  /** Its item has a place, and leaves it with the signal of its own. */
  depart(): boolean {
    return true;
  }

  aborted(reason: unknown): void {
    this.#controller.abort(reason);
  }

  end(): void {
    this.#watch?.remove(this);
    this.#watch = null;
  }
}
