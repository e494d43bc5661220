// What the tests of the limiter share: a clock that moves without tasks of the platform, and a
// client that notes what it is granted. A limiter is synchronous, so these tests are too.

import type { Clock, LimiterAnswer, LimiterClient, RateLimiter } from "batchwise";

export interface StepClock extends Clock {
  /** Moves time on, through every timer on the way. */
  advance(ms: number): void;
  /** Timers set and not yet fired or cleared. */
  readonly timers: number;
  /** Timers set so far. */
  readonly set: number;
  /** Timers fired so far. */
  readonly fired: number;
}

export function stepClock(startAt = 0): StepClock {
  const timers = new Map<number, { readonly at: number; readonly callback: () => void }>();
  let now = startAt;
  let handles = 0;
  let fired = 0;
  const next = (): number | undefined => {
    let first: number | undefined;
    for (const [handle, { at }] of timers) {
      if (first === undefined || at < (timers.get(first)?.at ?? 0)) first = handle;
    }
    return first;
  };
  return {
    now: () => now,
    setTimeout: (callback, delayMs) => {
      handles += 1;
      timers.set(handles, { at: now + delayMs, callback });
      return handles;
    },
    clearTimeout: (handle) => timers.delete(handle as number),
    advance: (ms) => {
      const until = now + ms;
      for (let handle = next(); handle !== undefined; handle = next()) {
        const timer = timers.get(handle);
        if (timer === undefined || timer.at > until) break;
        timers.delete(handle);
        now = Math.max(now, timer.at);
        fired += 1;
        timer.callback();
      }
      now = until;
    },
    get timers() {
      return timers.size;
    },
    get set() {
      return handles;
    },
    get fired() {
      return fired;
    },
  };
}

/** The answer of a limiter that answers at once. */
export function ask(limiter: RateLimiter, client: LimiterClient, cost: number): LimiterAnswer {
  const answer = limiter.reserve(client, cost);
  if ("then" in answer) throw new Error("Expected an answer, got a promise.");
  return answer;
}

/** What was granted; undefined where the client has to wait. */
export function granted(answer: LimiterAnswer): number | undefined {
  return answer.granted ? answer.cost : undefined;
}

export interface Note {
  readonly name: string;
  readonly at: number;
  readonly cost: number;
}

/** A client that asks again as it should, and writes each grant into `notes`. */
export class NotingClient implements LimiterClient {
  readonly name: string;
  cost: number;
  readonly #limiter: RateLimiter;
  readonly #clock: Clock;
  readonly #notes: Note[];

  constructor(name: string, cost: number, of: { limiter: RateLimiter; clock: Clock; notes: Note[] }) {
    this.name = name;
    this.cost = cost;
    this.#limiter = of.limiter;
    this.#clock = of.clock;
    this.#notes = of.notes;
  }

  /** True where it was granted at once. */
  ask(): boolean {
    const cost = granted(ask(this.#limiter, this, this.cost));
    if (cost !== undefined) this.#notes.push({ name: this.name, at: this.#clock.now(), cost });
    return cost !== undefined;
  }

  retry(): void {
    this.ask();
  }
}
