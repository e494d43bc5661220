// Abort signals of callers, with one listener per signal however many items share it: one per item
// would be quadratic, and old runtimes warn about it. Joining and leaving are O(1).

import type { Entry } from "../queue/entry.ts";
import type { Steps } from "../time/deadlines.ts";

/** A caller that leaves when its signal aborts. */
export interface SignalListener {
  /** Its index in the signal's list. */
  signalIndex: number;
  /**
   * First step, for all listeners of the signal: removes itself. Returns false if it already has.
   */
  leave(): boolean;
  /** Second step, if `leave` returned true. */
  aborted(reason: unknown): void;
}

/** The signal's reason. If reading it throws, the thrown value. */
export function reasonOf(signal: AbortSignal): unknown {
  try {
    return signal.reason;
  } catch (error) {
    return error;
  }
}

/** All callers of one batcher that share one signal. */
export class SharedSignal {
  readonly signal: AbortSignal;
  readonly #owner: AbortSignals;
  readonly #listeners: SignalListener[] = [];

  constructor(signal: AbortSignal, owner: AbortSignals) {
    this.signal = signal;
    this.#owner = owner;
    signal.addEventListener("abort", this);
  }

  add(listener: SignalListener): void {
    listener.signalIndex = this.#listeners.push(listener) - 1;
  }

  remove(listener: SignalListener): void {
    const last = this.#listeners.pop() as SignalListener;
    if (last !== listener) {
      this.#listeners[listener.signalIndex] = last;
      last.signalIndex = listener.signalIndex;
    }
    if (this.#listeners.length > 0) return;
    this.#owner.forget(this.signal);
    try {
      this.signal.removeEventListener("abort", this);
    } catch {
      // Ignore a signal that fails to remove the listener: callers are being answered.
    }
  }

  get isAborted(): boolean {
    try {
      return this.signal.aborted;
    } catch {
      return false;
    }
  }

  /**
   * The signal's listener. All callers leave before any is notified and before the freed places are
   * used.
   */
  handleEvent(): void {
    this.#owner.steps.inOneStep(() => {
      const reason = reasonOf(this.signal);
      const left = this.#listeners.slice().filter((listener) => listener.leave());
      for (const listener of left) listener.aborted(reason);
    });
  }
}

export class AbortSignals {
  readonly #bySignal: Map<AbortSignal, SharedSignal> = new Map();
  readonly steps: Steps;

  constructor(steps: Steps) {
    this.steps = steps;
  }

  /** Adds a listener to a signal that has not aborted. */
  add(signal: AbortSignal, listener: SignalListener): SharedSignal {
    let shared = this.#bySignal.get(signal);
    if (shared === undefined) {
      shared = new SharedSignal(signal, this);
      this.#bySignal.set(signal, shared);
    }
    shared.add(listener);
    return shared;
  }

  forget(signal: AbortSignal): void {
    this.#bySignal.delete(signal);
  }

  /**
   * Makes callers leave whose signal has aborted. Our listener may not have run yet, if another one
   * of the signal came first.
   */
  sendAway(entries: readonly Entry[]): void {
    if (this.#bySignal.size === 0) return;
    const isAborted = ({ recipient }: Entry): boolean => typeof recipient === "object" && recipient?.isAborted === true;
    if (!entries.some(isAborted)) return;
    for (const shared of [...this.#bySignal.values()]) if (shared.isAborted) shared.handleEvent();
  }
}
