// Abort signals of callers, with one listener per signal however many items share it: a listener an item is quadratic
// in the number of items, and old runtimes warn about it. Joining and leaving a signal's list is O(1).

/** Somebody who leaves when a signal aborts. */
export interface Watcher {
  /** Where this watcher stands in its signal's list. */
  watchIndex: number;
  /** Gives up its place without telling anyone; false where it has none any more. */
  depart(): boolean;
  /** Called after `depart` has returned true. */
  aborted(reason: unknown): void;
}

/** Runs work as one step: what it sets in motion waits until all of it is done. */
export type InOneStep = (work: () => void) => void;

/** Everyone of one batcher who watches one signal. */
export class Watch {
  readonly signal: AbortSignal;
  readonly #watches: Map<AbortSignal, Watch>;
  readonly #inOneStep: InOneStep;
  readonly #watchers: Watcher[] = [];

  constructor(signal: AbortSignal, watches: Map<AbortSignal, Watch>, inOneStep: InOneStep) {
    this.signal = signal;
    this.#watches = watches;
    this.#inOneStep = inOneStep;
    signal.addEventListener("abort", this);
  }

  add(watcher: Watcher): void {
    watcher.watchIndex = this.#watchers.push(watcher) - 1;
  }

  remove(watcher: Watcher): void {
    const last = this.#watchers.pop() as Watcher;
    if (last !== watcher) {
      this.#watchers[watcher.watchIndex] = last;
      last.watchIndex = watcher.watchIndex;
    }
    if (this.#watchers.length === 0) this.#end();
  }

  /** The signal's listener. All leave before anyone is told, and before the room that they make is used. */
  handleEvent(): void {
    this.#inOneStep(() => {
      const left = this.#watchers.slice().filter((watcher) => watcher.depart());
      const { reason } = this.signal;
      for (const watcher of left) watcher.aborted(reason);
    });
  }

  /** A signal that will not let go is the user's own affair: callers are being answered. */
  #end(): void {
    this.#watches.delete(this.signal);
    try {
      this.signal.removeEventListener("abort", this);
    } catch {
      return;
    }
  }
}

export class Watches {
  readonly #bySignal: Map<AbortSignal, Watch> = new Map();
  readonly #inOneStep: InOneStep;

  constructor(inOneStep: InOneStep = (work) => work()) {
    this.#inOneStep = inOneStep;
  }

  /** Adds a watcher to a signal that has not aborted. */
  add(signal: AbortSignal, watcher: Watcher): Watch {
    let watch = this.#bySignal.get(signal);
    if (watch === undefined) {
      watch = new Watch(signal, this.#bySignal, this.#inOneStep);
      this.#bySignal.set(signal, watch);
    }
    watch.add(watcher);
    return watch;
  }
}
