// An abort signal for the batcher only, without the cost of an EventTarget: the batcher adds and
// removes a listener for each item that is the only one of its connection.

/** A listener: an object with `handleEvent`, as the batcher adds it, or a function. */
type Listener = { handleEvent(): void } | (() => void);

export class LightSignal {
  readonly #listeners: Set<Listener> = new Set();
  aborted = false;
  reason: unknown;

  addEventListener(_type: "abort", listener: Listener): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: "abort", listener: Listener): void {
    this.#listeners.delete(listener);
  }

  /** Aborts once: a second call has no effect. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    for (const listener of [...this.#listeners]) {
      if (typeof listener === "function") listener();
      else listener.handleEvent();
    }
  }
}
