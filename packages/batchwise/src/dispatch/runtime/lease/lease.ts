// A lease on one batch, with its fence. A heartbeat renews it while an operation runs. Every write
// of a batch goes through here, one at a time, and renews the lease. A write that is refused for
// its fence ends the lease: another process owns the batch now.

import { isLegal, maySend } from "../../batches/life-cycle.ts";
import type { Account, ProviderBatch } from "../../contract/account.ts";
import type { ErrorContext } from "../../contract/dispatcher-options.ts";
import type { LeaseLostEvent } from "../../contract/events.ts";
import type { TransitionResult } from "../../contract/store/calls.ts";
import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { BatchChanges, BatchRow } from "../../contract/store/rows.ts";
import { parseLane } from "../../format/encode.ts";
import { CANCELLED } from "../../format/payload.ts";
import { withPrice } from "../../prices/amounts.ts";
import { backoff } from "../backoff.ts";
import type { Runtime } from "../runtime.ts";
import { pause } from "../wait-out.ts";
import { tellStuck, tellWritten, UsageTold } from "./lease-events.ts";

/** Thrown by an operation whose lease is lost. Not reported: the next owner continues the batch. */
export class LeaseLost extends Error {}

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;
/** How long a stop waits for a write that the store refuses. */
const STOP_MS = 4_000;

/** Decisions about members in one transaction. */
const SETTLED_AT_ONCE = 10_000;

/** Changes, or changes that depend on the moment of writing. */
type Changes = BatchChanges | ((now: number) => BatchChanges);

export class Lease {
  readonly account: Account;
  /** The provider batch as last polled, for later steps under the same lease. */
  seen: ProviderBatch | null = null;
  /** True once the batch is left to other processes: this one looks at it later than they do. */
  isLeft = false;
  readonly #runtime: Runtime;
  readonly #lost: AbortController = new AbortController();
  #batch: BatchRow;
  /** On the monotonic clock: when the call began that last renewed the lease. */
  #renewedAt: number;
  #tail: Promise<unknown> = Promise.resolve();
  #beat: unknown = null;
  /** How long each write renews the lease for. */
  #spanMs: number;
  #isOver = false;
  #isGivenUp = false;
  /** When the batch was written last, as far as `tellStuck` has looked. */
  #toldUntil: number;
  /**
   * A store that was set back gives the same fences out again: no lease from before counts after
   * it.
   */
  readonly #forgetSetBack: () => void;
  readonly #usage: UsageTold;

  /** `renewedAt` is the monotonic time before the call that gave this lease out. */
  constructor(runtime: Runtime, account: Account, batch: BatchRow, renewedAt: number) {
    this.#runtime = runtime;
    this.account = account;
    this.#batch = batch;
    this.#toldUntil = batch.updatedAt;
    this.#usage = new UsageTold(runtime);
    this.#renewedAt = renewedAt;
    this.#spanMs = runtime.options.leaseMs;
    this.#forgetSetBack = runtime.onSetBack(() => this.#lose("set_back"));
    this.#armHeartbeat();
  }

  get batch(): BatchRow {
    return this.#batch;
  }

  /** Aborted when the lease is lost. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** For `onError`: what this lease is about. */
  context<Name extends ErrorContext["operation"]>(
    operation: Name,
  ): { readonly account: string; readonly batch: string; readonly operation: Name } {
    return { account: this.account.name, batch: this.#batch.key, operation };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** True while the lease, on this machine's monotonic clock, outlasts a call of this length. */
  maySend(timeoutMs: number): boolean {
    return !this.#isOver && maySend(this.#spanMs, this.#heldMs(), timeoutMs);
  }

  /**
   * Writes changes, with the ends of pauses that are disproved here, and renews the lease. Returns
   * refusals, except for the fence, which throws LeaseLost.
   */
  write(changes: Changes): Promise<TransitionResult> {
    return this.#inTurn(() => this.#transition(changes, (now) => this.#untilFrom(now)));
  }

  /** Like `write`, and makes this and later renewals long enough for a call of `timeoutMs`. */
  writeBefore(timeoutMs: number, changes: Changes): Promise<TransitionResult> {
    const { leaseMs } = this.#runtime.options;
    return this.#inTurn(() => {
      this.#spanMs = Math.max(leaseMs, timeoutMs + leaseMs / 3);
      return this.#transition(changes, (now) => this.#untilFrom(now));
    });
  }

  /**
   * Writes changes and gives the lease back, in one transaction. A refusal leaves the lease held.
   */
  async end(changes: Changes): Promise<TransitionResult> {
    const result = await this.#inTurn(async () => {
      const written = await this.#transition(
        (now) => this.#worked(changes, now),
        () => 0,
      );
      if (written.ok) this.close();
      return written;
    });
    if (result.ok && !this.isLeft) this.#runtime.working.wakeAt(result.batch.nextAt);
    return result;
  }

  /** A step that succeeds resets `failedSteps` and `lastError`. */
  #worked(changes: Changes, now: number): BatchChanges {
    const wanted = typeof changes === "function" ? changes(now) : changes;
    return this.#batch.failedSteps === 0 ? wanted : { failedSteps: 0, lastError: null, ...wanted };
  }

  /** Stops the heartbeat without a write: a lease that was not given back expires. */
  close(): void {
    this.#isOver = true;
    this.#forgetSetBack();
    this.#runtime.clock.clearTimeout(this.#beat);
  }

  /**
   * Returns a lease that was given up during a stop, because the store did not accept its last
   * write. Tries once.
   */
  async giveBack(): Promise<void> {
    if (!this.#isGivenUp) return;
    const { store, clock } = this.#runtime;
    const { key, fence, nextAt } = this.#batch;
    const changes = { leaseUntil: 0, nextAt: Math.min(nextAt, clock.now()) };
    // The next owner waits until the lease expires, as after a crash.
    await this.#inTurn(() => store.transition(key, fence, changes, clock.now())).catch(() => {});
  }

  /** Reports a batch that has become stuck since the last look. */
  tellStuck(): void {
    const before = this.#toldUntil;
    this.#toldUntil = this.#batch.updatedAt;
    tellStuck(this.#runtime, this.#batch, before);
  }

  /**
   * Applies decisions about members. Where the store refuses them and heartbeats renew the lease
   * meanwhile, rejects with the store's error after `forMs`, by default the time of one lease; the
   * lease is still held.
   */
  async settle(items: readonly Settlement[], forMs: number = this.#spanMs - FIRST_RETRY_MS): Promise<void> {
    for (let from = 0; from < items.length; from += SETTLED_AT_ONCE) {
      await this.#settle(items.slice(from, from + SETTLED_AT_ONCE), forMs);
    }
  }

  async #settle(items: readonly Settlement[], forMs: number): Promise<void> {
    const { store, sinks } = this.#runtime;
    const { key, fence } = this.#batch;
    const cancelled = { cancelledPayload: CANCELLED.payload, cancelledCode: CANCELLED.code };
    const { payers, model } = parseLane(this.#batch.lane);
    const { prices } = this.#runtime.options;
    const priced = payers.length === 0 ? items : items.map((item) => withPrice(item, model, prices));
    const fixed = { key, fence, items: priced, sinks, ...cancelled };
    await this.#usage.prepare(this.#batch);
    const result = await this.#insist((now) => store.settle({ ...fixed, now }), forMs);
    if (!result.ok) throw this.#lose("taken");
    this.#usage.tell(this.#batch, items);
    this.#runtime.ignoredResults += result.ignored;
    this.#batch = { ...this.#batch, remaining: result.remaining };
    this.#runtime.outcomesRecorded();
  }

  async #transition(changes: Changes, leaseUntil: (now: number) => number): Promise<TransitionResult> {
    const { store, clock, troubles } = this.#runtime;
    const { key, fence, state } = this.#batch;
    let begunAt = 0;
    let given: BatchChanges = {};
    const ends = troubles.pauseEnds;
    const result = await this.#insist((now) => {
      const wanted = typeof changes === "function" ? changes(now) : changes;
      given = wanted;
      if (wanted.state !== undefined && !isLegal(state, wanted.state)) {
        throw new Error(`A batch may not go from ${state} to ${wanted.state}.`);
      }
      begunAt = clock.monotonic();
      // The changes were decided without the disproved pauses, which the store still has.
      const ledgers = ends.length === 0 ? {} : { ledgers: [...ends, ...(wanted.ledgers ?? [])] };
      return store.transition(key, fence, { ...wanted, ...ledgers, leaseUntil: leaseUntil(now) }, now);
    });
    if (!result.ok) {
      if (result.reason === "fence") throw this.#lose("taken");
      return result;
    }
    this.#renewedAt = begunAt;
    this.#batch = result.batch;
    troubles.endsWritten(ends);
    const ofGiven = ends.length === 0 ? result : { ...result, written: result.written.slice(ends.length) };
    tellWritten(this.#runtime, state, ofGiven, given);
    return ofGiven;
  }

  /** The end of a lease that begins now, by the store's clock. */
  #untilFrom(now: number): number {
    return now + this.#runtime.storeTime.aheadMs + this.#spanMs;
  }

  /**
   * Repeats a write that failed, with growing pauses, until shortly before the lease expires; for
   * some seconds where the dispatcher stops. All writes are idempotent. After `forMs` the error is
   * thrown, and the lease is still held.
   */
  async #insist<T>(attempt: (now: number) => Promise<T>, forMs: number = Number.POSITIVE_INFINITY): Promise<T> {
    const { clock } = this.#runtime;
    const begunAt = clock.monotonic();
    for (let failures = 1; ; failures += 1) {
      if (this.#isOver) throw new LeaseLost("The lease was given back or lost.");
      // An attempt that throws, instead of rejecting, has not called the store.
      const write = attempt(clock.now());
      try {
        return await write;
      } catch (error) {
        this.#runtime.reportShared(error, { operation: "store" });
        const leftMs = this.#insistsFor(begunAt);
        if (leftMs <= 0) {
          this.#isGivenUp = this.#runtime.isStopping;
          throw this.#lose("store");
        }
        if (begunAt + forMs <= clock.monotonic()) throw error;
        await this.#pause(Math.min(leftMs, backoff(FIRST_RETRY_MS, LAST_RETRY_MS, failures)));
      }
    }
  }

  #insistsFor(begunAt: number): number {
    const leftMs = this.#spanMs - this.#heldMs() - FIRST_RETRY_MS;
    const { clock, calls } = this.#runtime;
    if (calls.stoppingSince === null) return leftMs;
    return Math.min(leftMs, Math.max(begunAt, calls.stoppingSince) + STOP_MS - clock.monotonic());
  }

  /** A stop ends the pause before its turn. */
  #pause(ms: number): Promise<void> {
    const { clock, calls, stopping } = this.#runtime;
    const most = calls.stoppingSince === null ? ms : Math.min(ms, FIRST_RETRY_MS);
    return pause(clock, most, [this.#lost.signal, stopping.signal]);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(work);
    this.#tail = result.catch(() => {});
    return result;
  }

  #armHeartbeat(): void {
    this.#beat = this.#runtime.clock.setTimeout(() => {
      if (this.#isOver) return;
      this.write({}).then(
        () => {
          this.tellStuck();
          if (!this.#isOver) this.#armHeartbeat();
        },
        () => {},
      );
    }, this.#runtime.options.leaseMs / 3);
  }

  #heldMs(): number {
    return this.#runtime.clock.monotonic() - this.#renewedAt;
  }

  #lose(reason: LeaseLostEvent["reason"]): LeaseLost {
    const { key: batch, account } = this.#batch;
    if (!this.#isOver) this.#runtime.events.emit("leaseLost", () => ({ account, batch, reason }));
    this.close();
    const lost = new LeaseLost(`The lease of batch ${this.#batch.key} is lost.`);
    this.#lost.abort(lost);
    return lost;
  }
}
