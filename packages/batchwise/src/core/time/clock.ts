// Time, injected. The engine reads time and sets timers only through a Clock, so it runs under a
// virtual one in tests and in the simulator. SteadyClock makes any clock safe for computation;
// Timer is one timer that can be set again.

/**
 * The time source of a batcher, a rate limiter or a dispatcher. All times are in ms: for a
 * dispatcher since 1970, for the others from an arbitrary origin.
 */
export interface Clock {
  now(): number;
  setTimeout(callback: () => void, delayMs: number): unknown;
  clearTimeout(handle: unknown): void;
  /**
   * Runs the callback at the end of the event loop's current pass. Needed only for
   * `gather: "tick"`.
   */
  setImmediate?(callback: () => void): unknown;
  /**
   * Runs the callback when all events of the current moment have happened. For a simulator, which
   * knows that moment. Default: when the promise jobs of the running task are done.
   */
  endOfTurn?(callback: () => void): void;
  /** A time that never goes back, unlike `now`. Only a dispatcher reads it. Default: `now`. */
  monotonic?(): number;
  /**
   * A dispatcher passes work that this clock does not drive, such as a database call. A test clock
   * stands still until the work ends, for at most `atMostMs` of real time. Returns the same result.
   */
  hold?<Value>(work: Promise<Value>, atMostMs?: number): Promise<Value>;
}

/**
 * Kept, because on Node.js reading the global `performance` calls a getter that takes longer than
 * reading the time.
 */
const loadedWith = { performance: globalThis.performance, setTimeout };

/**
 * `performance.now()` and the platform's timers, which would cut a fraction of a ms off and fire
 * early. Fake timers replace both; then the global `performance` is read. A replaced `performance`
 * without replaced timers is not seen; a replaced `now` on it is.
 */
export const systemClock: Clock = {
  now: () => (setTimeout === loadedWith.setTimeout ? loadedWith.performance.now() : performance.now()),
  setTimeout: (callback, delayMs) => setTimeout(callback, Math.ceil(delayMs)),
  clearTimeout: (handle) => clearTimeout(handle as never),
};

/** How early platform timers may fire by the platform's clock, in ms. */
const EARLY_MS = 2;

/** Runs a function in the async context in which the batcher was made, and returns its result. */
export type InContext = <Value>(callback: () => Value) => Value;

/**
 * A clock that never goes back, never throws and never reads NaN, over any underlying clock. If
 * that one steps back (fake timers are switched on) or reads no time (it is stubbed), time stands
 * still for one reading and continues from there. If a timer fires long before its time by the
 * clock, the two do not belong together (a test's fake timers replace only `setTimeout`), and the
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
   * If the clock is unreadable, a firing timer shows how much time has passed. If the clock is far
   * behind the timer, it does not move with timers: the timer's whole delay is added, so that
   * timers set at one moment are due together. If it is behind by as little as a platform's timer
   * may be early, it will catch up; behind a fake timer, which may never move again, the rest is
   * added.
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

  /** Advances time without the clock. */
  #skip(ms: number): void {
    this.#last += ms;
    this.#offset += ms;
  }

  /** Advances time to the clock's reading; false if it is unreadable. */
  #readOn(): boolean {
    const now = this.#read() + this.#offset;
    if (now >= this.#last) this.#last = now;
    else if (now < this.#last) this.#offset += this.#last - now;
    return !Number.isNaN(now);
  }

  /** The clock's reading; NaN if it is no valid time. */
  #read(): number {
    try {
      const read: unknown = this.#clock.now();
      return typeof read === "number" && Math.abs(read) <= Number.MAX_SAFE_INTEGER ? read : Number.NaN;
    } catch {
      return Number.NaN;
    }
  }

  /** A time of this clock for users: ms since 1970, or the injected clock's own time. */
  toUserTime(at: number): number {
    const origin = this.#clock === systemClock ? (loadedWith.performance?.timeOrigin ?? 0) : 0;
    return origin + at - this.#offset;
  }
}

/**
 * Longest delay of a platform timer, in ms. A longer delay is cut, and the rest is set when it
 * fires.
 */
const LONGEST_DELAY_MS = 2 ** 31 - 1;

/**
 * A timer that fires at a time or later, never earlier: platform timers fire up to 1 ms early, so
 * the clock is read again when they do. Moving it later is free (it is set again when it fires),
 * moving it earlier costs one timer.
 */
export class Timer {
  readonly #clock: Clock;
  readonly #callback: () => void;
  #handle: unknown;
  #setFor = Infinity;
  #wantedAt = Infinity;
  /**
   * The platform's function at the last set. Fake timers replace it, and lose timers that were set
   * with them.
   */
  #platform: unknown;

  constructor(clock: Clock, callback: () => void) {
    this.#clock = clock;
    this.#callback = callback;
  }

  /** Fires once at `at`. Replaces an earlier time. */
  set(at: number, now: number): void {
    this.#wantedAt = at;
    if (at === Infinity) this.#stop();
    else if (at < this.#setFor || this.#platform !== setTimeout) this.#start(at, now);
  }

  /** Stops the timer: an idle batcher holds none. */
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
    // If fake timers were switched on in between, a cleared timer fires.
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
