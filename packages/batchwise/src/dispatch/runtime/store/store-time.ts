// Measures how far the store's clock is ahead of this process's, so that all processes use one
// clock for lease times: a process with a wrong clock takes no lease that another holds. Only for
// stores with a clock of their own, and not on a caller's clock.

import type { DispatchClock } from "../../contract/dispatcher-options.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { LeaseInput } from "../../contract/store/calls.ts";
import type { Store } from "../../contract/store/store.ts";

const EVERY_MS = 60_000;
/** A slower answer is too inexact, in ms. */
const SLOW_MS = 2_000;
/** Smaller differences are ignored, because the measurement is inexact, in ms. */
const LEAST_MS = 1_000;
const REPORTED_FROM_MS = 30_000;

export class StoreTime {
  readonly #store: Pick<Store, "now">;
  readonly #clock: DispatchClock;
  readonly #report: (error: DispatchError) => void;
  #aheadMs = 0;
  /** On the monotonic clock. */
  #measuredAt = Number.NEGATIVE_INFINITY;
  #measuring: Promise<void> | null = null;
  #isReported = false;

  constructor(store: Pick<Store, "now">, clock: DispatchClock, report: (error: DispatchError) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#report = report;
  }

  /**
   * How far the store's clock is ahead of this process's, in ms; 0 before the first measurement.
   */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** Measures at the first call, then once a minute. Without an answer the last value stays. */
  async measure(): Promise<void> {
    if (this.#clock.monotonic() - this.#measuredAt < EVERY_MS) return;
    this.#measuring ??= this.#measure().finally(() => {
      this.#measuring = null;
      this.#measuredAt = this.#clock.monotonic();
    });
    return this.#measuring;
  }

  async #measure(): Promise<void> {
    const [begunAt, before] = [this.#clock.monotonic(), this.#clock.now()];
    const at = await this.#store.now?.().catch(() => undefined);
    const tookMs = this.#clock.monotonic() - begunAt;
    if (at === undefined || tookMs > SLOW_MS) return;
    const here = before + tookMs / 2;
    const isOther = Math.abs(at - here - this.#aheadMs) >= LEAST_MS;
    if (isOther) this.#aheadMs = Math.round(at - here);
    this.#tell(at, here);
  }

  #tell(at: number, here: number): void {
    const isWrong = Math.abs(at - here) >= REPORTED_FROM_MS;
    if (isWrong === this.#isReported) return;
    this.#isReported = isWrong;
    const times = `it is ${iso(here)} here and ${iso(at)} at the store`;
    const message = isWrong
      ? `The clocks of this process and of the store differ: ${times}. Leases go by the store's clock; deadlines and waits go ` +
        "by this one. Set the clock that is wrong, as by NTP."
      : `The clocks of this process and of the store agree again: ${times}.`;
    this.#report(new DispatchError("CLOCK_DIFFERS", message));
  }
}

/** Which batches to lease, without owner and times. */
type Which = Pick<LeaseInput, "accounts" | "keys" | "limit">;

/** The part of a runtime that is used here. */
interface Lessee {
  readonly clock: DispatchClock;
  readonly options: { readonly owner: string; readonly leaseMs: number };
  readonly storeTime: StoreTime;
}

/** Arguments of a lease from now on, by the store's clock. */
export async function leaseInput({ clock, options, storeTime }: Lessee, which: Which): Promise<LeaseInput> {
  await storeTime.measure();
  const now = clock.now();
  const freeAt = now + storeTime.aheadMs;
  return { owner: options.owner, now, freeAt, leaseUntil: freeAt + options.leaseMs, ...which };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
