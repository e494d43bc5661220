// What the loops of one dispatcher share: the resolved options, the counters, and the loops
// themselves, so that one can wake another. It decides nothing and writes nothing.

import { attempt } from "../../core/contract/thenable.ts";
import { UnheardWarnings } from "../../core/contract/unheard-warnings.ts";
import { refusedModels } from "../accounts/lane-health.ts";
import { NO_PAUSES, type Pauses, pausesOf, valueOfMark } from "../accounts/pauses.ts";
import { mostBytes, speedOf } from "../batches/submit/upload-speed.ts";
import type { Account } from "../contract/account.ts";
import type { ErrorContext } from "../contract/dispatcher-options.ts";
import { DispatchError } from "../contract/errors.ts";
import type { LedgerRow, MarkChange, MarkRow } from "../contract/store/ledger-rows.ts";
import type { Store } from "../contract/store/store.ts";
import { readable, withInnermostCause, wordsOf } from "../format/client-error.ts";
import { Secrets, secretsOf } from "../format/secrets.ts";
import { visible } from "../format/visible.ts";
import type { ResolvedOptions } from "../options/resolve-options.ts";
import { PriceLimits } from "../prices/price-limits.ts";
import { AccountTroubles } from "./account-troubles.ts";
import type { Budget } from "./budget.ts";
import { Events } from "./events.ts";
import { flushMark, flushTimes } from "./flush-marks.ts";
import { Loop } from "./loop.ts";
import { loopsRanAt } from "./loops-mark.ts";
import { Prospects } from "./prospects.ts";
import { Reported } from "./reported.ts";
import { SteadyClock } from "./steady-clock.ts";
import { CheckedStore } from "./store/checked-store.ts";
import { OpenCalls } from "./store/open-calls.ts";
import { StoreTime } from "./store/store-time.ts";

export const CALLBACK_SINK = "callback";
export const WEBHOOK_SINK = "webhook";
const TOLD_AGAIN_MS = 30_000;
const DAY_MS = 24 * 3_600_000;
const HOW_TO_LISTEN = "Printed once a code. The option `onError` hears every error, and none is printed then.";

/** A run with a time limit that shares the events and memory of its dispatcher. */
export interface RunOf {
  readonly parent: Runtime;
  readonly budget: Budget;
}

export class Runtime {
  readonly options: ResolvedOptions;
  /** The remaining time of a run; null for loops, which run until they are stopped. */
  readonly budget: Budget | null;
  /** Called when a loop or an operation has ended, because there may be nothing left to do. */
  onRest: () => void = () => {};
  readonly store: Store;
  readonly clock: SteadyClock;
  /** Open calls of the store. */
  readonly calls: OpenCalls;
  readonly storeTime: StoreTime;
  readonly accounts: readonly Account[];
  /** Where each new outcome is delivered. */
  readonly sinks: readonly string[];
  readonly sealing: Loop;
  readonly working: Loop;
  readonly watching: Loop;
  readonly sweeping: Loop;
  readonly pruning: Loop;
  readonly calling: Loop;
  readonly posting: Loop;
  /** Aborted when the dispatcher stops: nothing new is begun after that. */
  readonly stopping: AbortController = new AbortController();
  readonly events: Events;
  readonly limits: PriceLimits;
  readonly prospects: Prospects;
  readonly troubles: AccountTroubles;
  /** What must not leave this process but in the calls of accounts and webhooks. */
  readonly secrets: Secrets;
  ignoredResults = 0;
  duplicateBatches = 0;
  #pauses: Pauses = NO_PAUSES;
  /** As last read. */
  #marks: readonly MarkRow[] = [];
  #flushTimes: ReadonlyMap<string, number> = new Map();
  /**
   * Time at which this process last had a running create, by account: the store does not know a
   * create that was sent late.
   */
  readonly sentAt: Map<string, number>;
  readonly #parent: Runtime | null;
  readonly #reported: Reported;
  readonly #setBackListeners: Set<(loss: DispatchError) => void> = new Set();
  #setBack: DispatchError | null = null;
  readonly #unheard: UnheardWarnings = new UnheardWarnings(() => false, HOW_TO_LISTEN);

  constructor(options: ResolvedOptions, run: RunOf | null = null) {
    const parent = run?.parent ?? null;
    this.options = options;
    this.#parent = parent;
    this.budget = run?.budget ?? null;
    this.sentAt = parent?.sentAt ?? new Map();
    this.#reported = parent === null ? new Reported() : parent.#reported;
    this.events =
      parent?.events ??
      new Events(
        (error) => this.report(error, { operation: "event" }),
        (event) => this.secrets.error(event),
      );
    this.clock = new SteadyClock(options.clock, (...step) => this.#clockStepped(...step));
    this.accounts = [...options.accounts.values()];
    const { webhook } = options;
    const ofWebhook = webhook === null ? [] : [webhook.secret];
    const ofAccounts = this.accounts.map(secretsOf);
    this.secrets = new Secrets(() => [...ofAccounts.flatMap((one) => one.known()), ...ofWebhook]);
    this.calls = new OpenCalls(this.clock, (error) => this.report(error, { operation: "store" }));
    this.store = new CheckedStore(options.store, this, (loss) => this.#whenSetBack(loss));
    const timed = options.isClockGiven ? {} : this.store;
    this.storeTime = new StoreTime(timed, this.clock, (error) => this.report(error, { operation: "store" }));
    this.troubles =
      parent?.troubles ??
      new AccountTroubles(
        (error, context) => this.report(error, context),
        () => this.clock.monotonic(),
        this.secrets,
      );
    this.limits = parent?.limits ?? new PriceLimits(options, this.store);
    this.prospects = new Prospects(this.store, this.clock);
    this.sinks = [
      ...(options.onOutcome === null ? [] : [CALLBACK_SINK]),
      ...(options.webhook === null ? [] : [WEBHOOK_SINK]),
    ];
    const loop = (operation: ErrorContext["operation"]): Loop =>
      new Loop(
        this.clock,
        (error) => this.report(error, { operation }),
        () => this.onRest(),
      );
    this.sealing = loop("seal");
    this.working = loop("work");
    this.watching = loop("store");
    this.sweeping = loop("list");
    this.pruning = loop("prune");
    this.calling = loop("deliver");
    this.posting = loop("deliver");
  }

  /** True when the time of the run has ended or the run was aborted: its calls are then aborted. */
  get isCut(): boolean {
    return this.budget?.isCut === true;
  }

  get isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  /**
   * A believed step moves what is due: the sweeper pulls back what lies too far ahead, the sealer
   * looks at the rest.
   */
  #clockStepped(message: string, believed: boolean, steppedMs: number): void {
    this.report(new Error(message), { operation: "work" });
    this.events.emit("clockStep", () => ({ steppedMs, believed }));
    if (!believed) return;
    this.sweeping.wake();
    this.sealing.wake();
  }

  /** The last time that the store was found to have lost what it had answered for. */
  get setBack(): DispatchError | null {
    return this.#setBack;
  }

  /**
   * Calls the listener at each later loss, before the call that found it goes on. Returns a
   * function that stops listening.
   */
  onSetBack(listener: (loss: DispatchError) => void): () => void {
    this.#setBackListeners.add(listener);
    return () => this.#setBackListeners.delete(listener);
  }

  onRisk(risk: DispatchError): void {
    this.report(risk, { operation: "store" });
  }

  #whenSetBack(loss: DispatchError): void {
    this.report(loss, { operation: "store" });
    this.events.emit("setBack", () => ({ code: loss.code, message: loss.message }));
    this.#setBack = loss;
    for (const listener of [...this.#setBackListeners]) listener(loss);
  }

  /** Wakes readers and deliverers: outcomes may have been recorded. */
  outcomesRecorded(): void {
    this.watching.wake();
    this.calling.wake();
    this.posting.wake();
    this.#parent?.outcomesRecorded();
  }

  /**
   * Calls the user's `onError`, or prints the error where there is none, except for calls that the
   * stop aborted and losses already reported. Masks secrets; adds host and code to a connection
   * error. Ignores errors of `onError`: there is nowhere else to report them.
   */
  report(told: unknown, context: ErrorContext): void {
    if (this.isStopping && told === this.stopping.signal.reason) return;
    if (told === this.#setBack && told !== null) return;
    if (this.#parent !== null) {
      this.#parent.report(told, context);
      return;
    }
    const error = withInnermostCause(this.secrets.error(readable(told)));
    const { onError } = this.options;
    if (onError === null) {
      const words = error instanceof DispatchError ? error.message : wordsOf(error);
      this.#unheard.add(visible(codeOf(error)), visible(words));
      return;
    }
    attempt(
      () => onError(error, context),
      () => {},
    );
  }

  /**
   * Reports a failure that many batches meet, such as a store that is away: the same message once
   * in 30 s.
   */
  reportShared(error: unknown, context: ErrorContext): void {
    this.reportOnce(String(readable(error)), error, context, TOLD_AGAIN_MS);
  }

  /**
   * Reports an error unless another one of this name was reported in the last `forMs`, by default a
   * day. Names of batches would fill the memory if they were kept for longer.
   */
  reportOnce(name: string, error: unknown, context: ErrorContext, forMs: number = DAY_MS): void {
    if (this.#reported.note(name, this.clock.monotonic(), forMs)) this.report(error, context);
  }

  /** The next error of this name is reported again. */
  forgetReported(name: string): void {
    this.#reported.forget(name);
  }

  async ledgers(): Promise<ReadonlyMap<string, LedgerRow>> {
    const { ledgers } = await this.store.probe(1, this.clock.now());
    return this.troubles.lookPast(ledgers);
  }

  /** What operators have paused, and lanes that are not well. */
  async readPauses(): Promise<Pauses> {
    await this.changeMarks([]);
    return this.#pauses;
  }

  /** Changes marks of the store as it does; `lastPauses` says what follows. */
  async changeMarks(changes: readonly MarkChange[]): Promise<readonly MarkRow[]> {
    const now = this.clock.now();
    const marks = await this.store.marks(changes, now);
    const before = refusedModels(this.#pauses.healths).size;
    this.#marks = marks;
    this.#pauses = pausesOf(marks);
    this.#flushTimes = flushTimes(marks, now + this.storeTime.aheadMs);
    if (before === 0 && refusedModels(this.#pauses.healths).size > 0) this.troubles.onRefusal();
    return marks;
  }

  /** The value of the mark; null for none. */
  async readMark(name: string): Promise<string | null> {
    return valueOfMark(await this.changeMarks([]), name);
  }

  /**
   * Sets the mark if it still has the expected value; null takes it away. Returns whether it now
   * has the value: no other process may write the same one.
   */
  async setMark(name: string, expected: string | null, value: string | null): Promise<boolean> {
    return valueOfMark(await this.changeMarks([{ name, expected, value }]), name) === value;
  }

  /** The last flush of the lane by a process without loops, as last read; -Infinity for none. */
  flushedAt(lane: string): number {
    if (this.#flushTimes.size === 0) return Number.NEGATIVE_INFINITY;
    return this.#flushTimes.get(flushMark(lane)) ?? Number.NEGATIVE_INFINITY;
  }

  /** When the loops of some process ran, as the marks said when they were last read. */
  get loopsRanAt(): number | null {
    return loopsRanAt(this.#marks);
  }

  /**
   * What operators have paused, as last read: for what does no harm where it is some seconds old.
   */
  get lastPauses(): Pauses {
    return this.#pauses;
  }

  /**
   * Time limit of a call that may safely be cut off, in ms: the time left of a run, else `usualMs`.
   */
  timeFor(usualMs: number): number {
    return this.budget?.leftMs ?? usualMs;
  }

  /** Last known upload speed of the account, in bytes per ms; null if unknown. */
  uploadSpeed(account: string): number | null {
    return speedOf(this.#marks, account);
  }

  /** The largest file for the account that is worth making in the time that there is. */
  mostBytes(account: string): number {
    if (this.budget === null) return Number.POSITIVE_INFINITY;
    return mostBytes(this.uploadSpeed(account), this.budget.workMs);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.setTimeout(resolve, ms);
    });
  }
}

/** Errors of clients and of the platform may have codes, too. */
function codeOf(error: unknown): string {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === "string" ? code : "DISPATCHER_ERROR";
}
