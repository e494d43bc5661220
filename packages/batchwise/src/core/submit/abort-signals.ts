// Abort signals of callers, with one listener per signal however many items share it: a listener an
// item is quadratic in the number of items, and old runtimes warn about it. Joining and leaving a
// signal's list is O(1).

import type { Entry } from "../queue/entry.ts";
import type { InOneStep } from "../time/deadlines.ts";

/** One who leaves when a signal aborts. */
export interface SignalListener {
  /** Where it stands in its signal's list. */
  signalIndex: number;
  /**
   * First call, for all listeners of the signal: gives up its place; false where it has none any
   * more.
   */
  leave(): boolean;
  /** Second call, where `leave` returned true. */
  aborted(reason: unknown): void;
}

/**
 * What a signal says of its abort. Where reading it throws, what it threw stands for the reason.
 */
export function reasonOf(signal: AbortSignal): unknown {
  try {
    return signal.reason;
  } catch (error) {
    return error;
  }
}

/** All callers of one batcher who share one signal. */
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
      // A signal that fails to let go stops nobody: callers are being answered.
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
   * The signal's listener. All leave before anyone is told, and before the room that they make is
   * used.
   */
  handleEvent(): void {
    this.#owner.inOneStep(() => {
      const reason = reasonOf(this.signal);
      const left = this.#listeners.slice().filter((listener) => listener.leave());
      for (const listener of left) listener.aborted(reason);
    });
  }
}

export class AbortSignals {
  #bySignal: Map<AbortSignal, SharedSignal> | null = null;
  readonly inOneStep: InOneStep;

  constructor(inOneStep: InOneStep) {
    this.inOneStep = inOneStep;
  }

  /** Adds a listener to a signal that has not aborted. */
  add(signal: AbortSignal, listener: SignalListener): SharedSignal {
    this.#bySignal ??= new Map();
    let shared = this.#bySignal.get(signal);
    if (shared === undefined) {
      shared = new SharedSignal(signal, this);
      this.#bySignal.set(signal, shared);
    }
    shared.add(listener);
    return shared;
  }

  forget(signal: AbortSignal): void {
    this.#bySignal?.delete(signal);
  }

  /**
   * Sends those of these away whose signal has aborted: another of its listeners may have been
   * called first.
   */
  sendAway(entries: readonly Entry[]): void {
    if (this.#bySignal === null || this.#bySignal.size === 0) return;
    const isAborted = ({ recipient }: Entry): boolean => typeof recipient === "object" && recipient?.isAborted === true;
    if (!entries.some(isAborted)) return;
    for (const shared of [...this.#bySignal.values()]) if (shared.isAborted) shared.handleEvent();
  }
}
