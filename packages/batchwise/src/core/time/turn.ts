// The end of a turn: the moment when the microtask queue of the running task is empty. Submits in
// later promise jobs of the same task still share a batch, and a single item waits about a
// microsecond. Also the end of a pass of the event loop, for callers from many sockets.
//
// Platform functions are taken when this module loads, so fake timers do not stop them.

import type { Clock } from "./clock.ts";

type Schedule = (callback: () => void) => void;

interface Platform {
  readonly process?: { readonly nextTick?: Schedule };
  readonly setImmediate?: Schedule;
  readonly MessageChannel?: typeof MessageChannel;
}

const settled: Promise<void> = Promise.resolve();
const platform: Platform = globalThis as Platform;
const nextTick: Schedule | undefined = platform.process?.nextTick;
let byMessage: Schedule | undefined;

/**
 * Runs the callback when the microtasks of the current task are done. On Node.js, Bun and Deno a
 * tick that is queued inside a promise job does that. In a browser, a message to oneself is the
 * next task. Never uses a timer, which would cost a ms.
 */
export const endOfTurn: Schedule = (callback) => atEndOfTurn(callback)();

/** A function that schedules the callback so, or by `ends`. It can be called again. */
function atEndOfTurn(callback: () => void, ends?: Schedule): () => void {
  if (ends !== undefined) return () => ends(callback);
  if (nextTick === undefined) return () => nextTask(callback);
  const tick = (): void => nextTick(callback);
  return () => {
    settled.then(tick);
  };
}

/** Runs the callback when the event loop has read all ready sockets. */
export const endOfPass: Schedule = platform.setImmediate ?? ((callback) => nextTask(callback));

function nextTask(callback: () => void): void {
  byMessage ??= platform.MessageChannel === undefined ? twoJobsLater : messageToSelf(platform.MessageChannel);
  byMessage(callback);
}

function twoJobsLater(callback: () => void): void {
  settled.then(() => settled.then(callback));
}

function messageToSelf(Channel: typeof MessageChannel): Schedule {
  const { port1, port2 } = new Channel();
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

/**
 * A moment, shared by all submits of one turn, or of the part of a turn before or after a flush.
 */
export class Moment {
  /** In ms of the batcher's clock. */
  readonly at: number;
  /** Later moments have higher numbers. */
  readonly sequence: number;

  constructor(at: number, sequence: number) {
    this.at = at;
    this.sequence = sequence;
  }
}

export interface TurnEnd {
  /** Called when an open turn ends. */
  turnEnded(): void;
}

/** The current turn, opened by its first submit or event. The clock is read once per turn. */
export class Turn {
  readonly #end: TurnEnd & { readonly clock: Clock };
  /** Schedules the ends of turns, if the clock has `endOfTurn`. */
  readonly #ends: Schedule | undefined;
  /** Schedules the end of a turn. Made with the first one. */
  #schedule: (() => void) | null = null;
  #moment: Moment | null = null;
  #sequence = 0;

  /** `ends`: of a clock that ends turns itself. */
  constructor(end: TurnEnd & { readonly clock: Clock }, ends?: Schedule) {
    this.#end = end;
    this.#ends = ends;
  }

  get isOpen(): boolean {
    return this.#moment !== null;
  }

  /** The moment of the current turn. */
  get moment(): Moment {
    return this.#moment ?? this.#begin();
  }

  /** Ensures that `turnEnded` is called at the end of this turn. */
  lookAgain(): void {
    if (this.#moment === null) this.#begin();
  }

  #begin(): Moment {
    const moment = this.newMoment(this.#end.clock.now());
    this.#moment = moment;
    this.#schedule ??= atEndOfTurn(() => {
      this.#moment = null;
      this.#end.turnEnded();
    }, this.#ends);
    this.#schedule();
    return moment;
  }

  /** Ends the current moment and returns its sequence; later submits have higher ones. */
  endMoment(): number {
    const last = this.#sequence;
    if (this.#moment !== null) this.#moment = this.newMoment(this.#moment.at);
    return last;
  }

  /** A moment after all others, for entries that count as submitted at `at`. */
  newMoment(at: number): Moment {
    this.#sequence += 1;
    return new Moment(at, this.#sequence);
  }
}
