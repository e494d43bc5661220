// Settles the results of lines that this process has run, each soon after it has ended. Lines that
// have run are not run again for a store that refuses their results, or hangs: the pass waits.

import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/**
 * The first result of a transaction waits so long for others. A kill runs again what ended in this
 * time.
 */
const SETTLE_MS = 200;
const CHUNK_LINES = 1_000;
const CHUNK_CHARS = 1_000_000;

export class SettleSoon {
  readonly #runtime: Runtime;
  readonly #lease: Lease;
  readonly #onWaiting: (waits: boolean) => void;
  readonly #onError: (reason: unknown) => void;
  #items: Settlement[] = [];
  #chars = 0;
  #timer: unknown = null;
  #settling: Promise<void> = Promise.resolve();
  #isWaiting = false;
  #settled = 0;

  /** `onError`: of a chunk that no caller of `flush` waits for. */
  constructor(runtime: Runtime, lease: Lease, onWaiting: (waits: boolean) => void, onError: (reason: unknown) => void) {
    this.#runtime = runtime;
    this.#lease = lease;
    this.#onWaiting = onWaiting;
    this.#onError = onError;
  }

  /** Members settled so far. */
  get settled(): number {
    return this.#settled;
  }

  /** The store has refused results for the time of a lease: no line is to be started. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  get isFull(): boolean {
    return this.#items.length >= CHUNK_LINES || this.#chars >= CHUNK_CHARS;
  }

  add(item: Settlement): void {
    this.#items.push(item);
    this.#chars += item.kind === "final" ? item.payload.length : 0;
    if (this.#items.length > 1) return;
    this.#timer = this.#runtime.clock.setTimeout(() => {
      this.flush().catch(this.#onError);
    }, SETTLE_MS);
  }

  /** Settles what has ended, one transaction after the other. */
  flush(): Promise<void> {
    this.stopTimer();
    const items = this.#items;
    this.#items = [];
    this.#chars = 0;
    if (items.length === 0) return this.#settling;
    const settling = this.#settling.then(async () => {
      await this.#settle(items);
      this.#settled += items.length;
      await this.#runtime.options.failpoint("after-result-txn");
    });
    this.#settling = settling;
    return settling;
  }

  /** Until `flush`. */
  stopTimer(): void {
    this.#runtime.clock.clearTimeout(this.#timer);
  }

  /**
   * After the time of a lease the pass starts no other line, and keeps no place and nothing of the
   * account's limits.
   */
  async #settle(items: readonly Settlement[]): Promise<void> {
    const { clock, options } = this.#runtime;
    const timer = clock.setTimeout(() => this.#wait(true), options.leaseMs);
    try {
      await this.#lease.settle(items, Number.POSITIVE_INFINITY);
    } finally {
      clock.clearTimeout(timer);
      if (this.#isWaiting) this.#wait(false);
    }
  }

  #wait(waits: boolean): void {
    this.#isWaiting = waits;
    this.#onWaiting(waits);
    // If the lease is lost meanwhile, the pass ends.
    if (!this.#lease.isOver) this.#lease.write((now) => ({ releaseAt: waits ? now : null })).catch(() => {});
  }
}
