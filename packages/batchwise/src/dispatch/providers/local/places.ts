// Limits the lines of an account that run at once in this process, over all of its batches. Also
// pauses all of them when the server demands it.

/** Resolves after `ms`; rejects with the signal's reason. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const leave = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", leave);
      resolve();
    }, ms);
    signal.addEventListener("abort", leave, { once: true });
  });
}

interface Waiting {
  readonly take: () => void;
}

export class Places {
  #free: number;
  #pausedUntil = 0;
  readonly #line: Set<Waiting> = new Set();

  constructor(places: number) {
    this.#free = places;
  }

  /** Takes a place, in order of the calls. Rejects with the signal's reason. */
  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        this.#line.delete(waiting);
        reject(signal.reason);
      };
      const take = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const waiting: Waiting = { take };
      this.#line.add(waiting);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  /** Returns a place. Passes it to the first waiter, if any. */
  give(): void {
    const [next] = this.#line;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#line.delete(next);
    next.take();
  }

  /** Pauses all lines for this time. */
  pauseFor(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + ms);
  }

  /** Waits for the end of the pause. Rejects with the signal's reason. */
  async open(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    for (let left = this.#left(); left > 0; left = this.#left()) await sleep(Math.ceil(left), signal);
  }

  #left(): number {
    return this.#pausedUntil - performance.now();
  }
}
