// Open calls of the store. Guarantees that a call that is open for five seconds is reported once,
// and once more when the store answers again; and that a stop does not wait for a store that hangs.

import { Timer } from "../../../core/time/clock.ts";
import type { DispatchClock } from "../../contract/dispatcher-options.ts";
import { DispatchError } from "../../contract/errors.ts";

const SLOW_MS = 5_000;
/** Time limit of a call during a stop, in ms, from the later of the call and the stop. */
const STOP_MS = 2_000;

interface OpenCall {
  readonly name: string;
  readonly begunAt: number;
  readonly cut: (error: DispatchError) => void;
}

export class OpenCalls {
  readonly #clock: DispatchClock;
  readonly #report: (error: DispatchError) => void;
  readonly #timer: Timer;
  /** The oldest first. */
  readonly #open: Set<OpenCall> = new Set();
  #slow: OpenCall | null = null;
  #stoppingSince: number | null = null;

  constructor(clock: DispatchClock, report: (error: DispatchError) => void) {
    this.#clock = clock;
    this.#report = report;
    const timers = {
      now: () => clock.monotonic(),
      setTimeout: (callback: () => void, delayMs: number) => clock.setTimeout(callback, delayMs),
      clearTimeout: (handle: unknown) => clock.clearTimeout(handle),
    };
    this.#timer = new Timer(timers, () => this.#look());
  }

  /** On the monotonic clock; null if the dispatcher is not stopping. */
  get stoppingSince(): number | null {
    return this.#stoppingSince;
  }

  /** Until `end`, each call is given up soon; whether it took effect is then unknown. */
  beginStop(): void {
    this.#stoppingSince = this.#clock.monotonic();
    this.#arm();
  }

  endStop(): void {
    this.#stoppingSince = null;
    this.#arm();
  }

  /** The same answer, unless the call is given up. */
  async add<Answer>(name: string, work: Promise<Answer>): Promise<Answer> {
    let cut: OpenCall["cut"] = () => {};
    const givenUp = new Promise<never>((_resolve, reject) => {
      cut = reject;
    });
    const open = { name, begunAt: this.#clock.monotonic(), cut };
    this.#open.add(open);
    if (this.#open.size === 1) this.#arm();
    try {
      return await Promise.race([work, givenUp]);
    } finally {
      this.#open.delete(open);
      this.#ended();
    }
  }

  #ended(): void {
    const [oldest] = this.#open;
    if (oldest === undefined) this.#timer.clear();
    if (this.#slow === null || (oldest !== undefined && this.#age(oldest) >= SLOW_MS)) return;
    const seconds = Math.round(this.#age(this.#slow) / 1_000);
    this.#slow = null;
    this.#report(new DispatchError("STORE_SLOW", `The store answers again, after ${seconds} s.`));
    this.#arm();
  }

  #look(): void {
    const [oldest] = this.#open;
    if (oldest !== undefined && this.#slow === null && this.#age(oldest) >= SLOW_MS) {
      this.#slow = oldest;
      const message = `The store has not answered the call \`${oldest.name}\` for ${SLOW_MS / 1_000} s.`;
      this.#report(new DispatchError("STORE_SLOW", `${message} Calls wait for it; none is lost.`));
    }
    for (const call of this.#open) if (this.#stopLeft(call) <= 0) call.cut(noAnswer(call.name));
    this.#arm();
  }

  /** Sets a timer for when the oldest call is slow or must be given up. */
  #arm(): void {
    const [oldest] = this.#open;
    if (oldest === undefined) return;
    const slowLeft = this.#slow === null ? SLOW_MS - this.#age(oldest) : Number.POSITIVE_INFINITY;
    const left = Math.min(slowLeft, Math.max(0, this.#stopLeft(oldest)));
    const now = this.#clock.monotonic();
    this.#timer.clear();
    if (left < Number.POSITIVE_INFINITY) this.#timer.set(now + left, now);
  }

  #age(call: OpenCall): number {
    return this.#clock.monotonic() - call.begunAt;
  }

  #stopLeft(call: OpenCall): number {
    if (this.#stoppingSince === null) return Number.POSITIVE_INFINITY;
    return Math.max(call.begunAt, this.#stoppingSince) + STOP_MS - this.#clock.monotonic();
  }
}

function noAnswer(name: string): DispatchError {
  const message = `The store did not answer the call \`${name}\` while the dispatcher stopped.`;
  return new DispatchError("STORE_UNAVAILABLE", `${message} Whether it took effect is not known.`);
}
