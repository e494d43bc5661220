// The end of a turn: the moment when the microtask queue of the running task has drained. Submits that are made in
// later promise jobs of the same task still travel together, and a lone item waits about a microsecond.
//
// On Node, Bun and Deno a tick that is queued from inside a promise job runs once the jobs have drained. In a browser
// a message to oneself is the next task. A timer is never used: it would cost a millisecond.

import type { Clock } from "./clock.ts";

interface Ticking {
  readonly process?: { readonly nextTick?: (callback: () => void) => void };
}

const settled: Promise<void> = Promise.resolve();

/** Runs the callback when the current task's microtasks have drained. */
type EndOfTurn = (callback: () => void) => void;

const endOfTurn: EndOfTurn = chooseEndOfTurn();

/** The current turn, opened by the first who asks for its time: the clock is read once a turn. */
export class Turn {
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  #isOpen = false;
  #at = 0;

  constructor(clock: Clock, onEnd: () => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  /** True from the first who asked for its time to its end. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The time of the current turn, in milliseconds of the clock. At its end `onEnd` is called. */
  time(): number {
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.#at = this.#clock.now();
      endOfTurn(this.#end);
    }
    return this.#at;
  }

  readonly #end = (): void => {
    this.#isOpen = false;
    this.#onEnd();
  };
}

function chooseEndOfTurn(): EndOfTurn {
  const nextTick = (globalThis as Ticking).process?.nextTick;
  if (typeof nextTick === "function") {
    return (callback) => {
      settled.then(() => nextTick(callback));
    };
  }
  if (typeof MessageChannel === "function") return messageTurn();
  return (callback) => {
    settled.then(() => settled.then(callback));
  };
}

function messageTurn(): EndOfTurn {
  const { port1, port2 } = new MessageChannel();
  let callbacks: (() => void)[] = [];
  const listen: { onmessage?: () => void } = port1 as object;
  listen.onmessage = () => {
    const due = callbacks;
    callbacks = [];
    for (const callback of due) callback();
  };
  return (callback) => {
    callbacks.push(callback);
    if (callbacks.length === 1) port2.postMessage(0);
  };
}
