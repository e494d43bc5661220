// Time, injected. The engine reads time and sets timers only through a Clock, so all of it runs
// under a virtual one in tests and in the simulator. SteadyClock makes any clock safe to compute
// with; Timer is one timer that can be set anew.

/**
 * Where a batcher, a rate limiter or a dispatcher gets its time from. All times are milliseconds:
 * for a dispatcher since the epoch, for the others from an arbitrary origin.
 */
export interface Clock {
  now(): number;
  setTimeout(callback: () => void, delayMs: number): unknown;
  clearTimeout(handle: unknown): void;
  /**
   * Runs the callback at the end of the event loop's present pass. Needed for `gather: "tick"`
   * alone.
   */
  setImmediate?(callback: () => void): unknown;
  /**
   * Runs the callback when all that happens at the present moment has happened. For a simulator,
   * which knows when that is. Default: when the promise jobs of the running task are done.
   */
  endOfTurn?(callback: () => void): void;
  /** A time that never goes back, where `now` may. Read by a dispatcher alone. Default: `now`. */
  monotonic?(): number;
  /**
   * Called by a dispatcher for work that this clock does not drive, such as a call of a database. A
   * clock of tests stands still until the work ends, for `atMostMs` of real time at most. Returns
   * the same result.
   */
  hold?<Value>(work: Promise<Value>, atMostMs?: number): Promise<Value>;
}

/**
 * Reading the global `performance` calls a getter on Node.js, which takes longer than reading the
 * time.
 */
const loadedWith = { performance: globalThis.performance, setTimeout };

/**
 * `performance.now()` and the platform's timers, which would cut a fraction of a millisecond off
 * and fire early. Fake timers replace both: then the global
 * `performance` is read. A `performance` that is replaced alone is not seen; a `now` that is
 * replaced on it is.
 */
export const systemClock: Clock = {
  now: () => (setTimeout === loadedWith.setTimeout ? loadedWith.performance.now() : performance.now()),
  setTimeout: (callback, delayMs) => setTimeout(callback, Math.ceil(delayMs)),
  clearTimeout: (handle) => clearTimeout(handle as never),
};

/** Platform timers may fire so much too early, by the platform's clock. */
const EARLY_MS = 2;

/**
 * Runs a function in the async context in which the batcher was made, and returns what it returns.
 */
export type InContext = <Value>(callback: () => Value) => Value;

/**
 * A clock that never goes back, never throws and never reads NaN, whatever the clock under it does.
 * Where that one steps back (fake timers are switched on) or reads no time (it is stubbed), time
 * stands still for one reading and goes on from there. Where a timer fires long before its time by
 * the clock, the clock is not the timer's (a test's fake timers replace `setTimeout` alone): the
 * timer is believed. Timers are set in the batcher's own async context, so a waiting timer keeps no
 * caller's context alive.
 */
export class SteadyClock implements Clock {
  readonly #clock: Clock;
  readonly #inContext: InContext;
  #offset = 0;
  #last = 0;

  constructor(clock: Clock, inContext: InContext) {
    this.#clock = clock;
    this.#inContext = inContext;
    const first = this.#read();
    this.#last = Number.isNaN(first) ? 0 : first;
  }

  now(): number {
    this.#readOn();
    return this.#last;
  }

  /**
   * Where the clock cannot be read, a timer that fires shows how much time has passed. Where the
   * clock is far behind the timer, it does not move with timers: the timer's whole delay is added
   * to it, so that all timers that were set at one moment are due together. Where it is behind by
   * as little as a platform's timer may be early, it gets there by itself; behind a fake timer,
   * which nobody may move again, the rest is added.
   */
  setTimeout(callback: () => void, delayMs: number): unknown {
    const dueAt = this.#last + delayMs;
    const fired = (): void => {
      const isRead = this.#readOn();
      const lagMs = dueAt - this.#last;
      if (!isRead) this.#last = Math.max(this.#last, dueAt);
      else if (lagMs > EARLY_MS) this.#skip(delayMs);
      else if (lagMs > 0 && setTimeout !== loadedWith.setTimeout) this.#skip(lagMs);
      callback();
    };
    return this.#inContext(() => this.#clock.setTimeout(fired, delayMs));
  }

  clearTimeout(handle: unknown): void {
    this.#clock.clearTimeout(handle);
  }

  /** Moves time on without the clock. */
  #skip(ms: number): void {
    this.#last += ms;
    this.#offset += ms;
  }

  /** Moves time on to what the clock reads; false where it cannot be read. */
  #readOn(): boolean {
    const now = this.#read() + this.#offset;
    if (now >= this.#last) this.#last = now;
    else if (now < this.#last) this.#offset += this.#last - now;
    return !Number.isNaN(now);
  }

  /** What the clock reads; NaN where that is no time to compute with. */
  #read(): number {
    try {
      const read: unknown = this.#clock.now();
      return typeof read === "number" && Math.abs(read) <= Number.MAX_SAFE_INTEGER ? read : Number.NaN;
    } catch {
      return Number.NaN;
    }
  }

  /**
   * A time of this clock as the user sees it: epoch milliseconds, or the injected clock's own time.
   */
  toUserTime(at: number): number {
    const origin = this.#clock === systemClock ? (loadedWith.performance?.timeOrigin ?? 0) : 0;
    return origin + at - this.#offset;
  }
}

/**
 * Platform timers hold their delay in 31 bits. A longer delay is cut, and the rest is set when it
 * fires.
 */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/**
 * One timer that fires at a time or later, never earlier: platform timers fire up to 1 ms early, so
 * the clock is read again when they do. Moving it later costs nothing (it is set anew when it
 * fires), moving it earlier one timer.
 */
export class Timer {
  readonly #clock: Clock;
  readonly #callback: () => void;
  #handle: unknown;
  #setFor = Infinity;
  #wantedAt = Infinity;
  /**
   * The platform's function when it was set last. Fake timers replace it, and lose what was set
   * with them.
   */
  #platform: unknown;

  constructor(clock: Clock, callback: () => void) {
    this.#clock = clock;
    this.#callback = callback;
  }

  /** Fires once at `at`, in place of what was set before. */
  set(at: number, now: number): void {
    this.#wantedAt = at;
    if (at === Infinity) this.#stop();
    else if (at < this.#setFor || this.#platform !== setTimeout) this.#start(at, now);
  }

  /** Turns it off: an idle batcher holds no timer. */
  clear(): void {
    this.set(Infinity, 0);
  }

  #start(at: number, now: number): void {
    this.#stop();
    this.#setFor = at;
    this.#platform = setTimeout;
    const delayMs = Math.min(LONGEST_DELAY_MS, Math.max(0, at - now));
    this.#handle = this.#clock.setTimeout(() => this.#fired(), delayMs);
  }

  #stop(): void {
    if (this.#setFor === Infinity) return;
    this.#clock.clearTimeout(this.#handle);
    this.#setFor = Infinity;
  }

  #fired(): void {
    this.#setFor = Infinity;
    // Where fake timers were switched on in between, a timer fires although it was cleared.
    if (this.#wantedAt === Infinity) return;
    const now = this.#clock.now();
    if (this.#wantedAt > now) {
      this.#start(this.#wantedAt, now);
      return;
    }
    this.#wantedAt = Infinity;
    this.#callback();
  }
}
