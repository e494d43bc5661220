// Measures how far the store's clock is ahead of this process's, so that all processes write and
// read the times of leases by one clock: one whose clock is wrong takes no lease that another
// holds. Only for stores with a clock of their own, and not on a clock of the caller's.

import { DispatchError } from "../contract/errors.ts";
import type { LeaseInput, Store } from "../contract/store.ts";
import type { DispatchClock } from "../options/dispatcher-options.ts";

const EVERY_MS = 60_000;
/** An answer that took longer says too little. */
const SLOW_MS = 2_000;
/** Smaller differences are left out: the measure is not exact. */
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
   * Milliseconds by which the store's clock is ahead of this process's, as last measured; 0 before.
   */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /**
   * Measures at the first call, then once a minute. A store that does not answer leaves what was
   * measured.
   */
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

/** What is leased, without who leases it and the times. */
type Which = Pick<LeaseInput, "accounts" | "keys" | "limit">;

/** The part of a runtime that is used here. */
interface Lessee {
  readonly clock: DispatchClock;
  readonly options: { readonly owner: string; readonly leaseMs: number };
  readonly storeTime: StoreTime;
}

/** A lease from now on, by the store's clock. */
export async function leaseInput({ clock, options, storeTime }: Lessee, which: Which): Promise<LeaseInput> {
  await storeTime.measure();
  const now = clock.now();
  const freeAt = now + storeTime.aheadMs;
  return { owner: options.owner, now, freeAt, leaseUntil: freeAt + options.leaseMs, ...which };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
