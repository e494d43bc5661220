// The dispatcher for users. Connects intake, scheduler and outcomes with one store and forwards
// calls. All state is in the store, so any number of processes may run on the same store, and any
// of them may crash at any point. docs/dispatch-design.md says when a request runs twice.

import { bindMethods } from "../core/contract/bind-methods.ts";
import { Sealer } from "./batches/seal/sealer.ts";
import { Workers } from "./batches/workers.ts";
import type { Estimate } from "./contract/cost.ts";
import type { Dispatcher } from "./contract/dispatcher.ts";
import type { DispatcherOptions } from "./contract/dispatcher-options.ts";
import { DispatchError } from "./contract/errors.ts";
import type { DispatcherEventName, DispatcherListener } from "./contract/events.ts";
import type {
  CancelCounts,
  CancelFilter,
  DueReport,
  PollFilter,
  RequestPage,
  RequestsOptions,
  RetryFilter,
  RetryRequestsOptions,
  RunDueOptions,
  UsageFilter,
  UsageRecord,
} from "./contract/operations.ts";
import type {
  BatchFilter,
  BatchLine,
  BatchRecord,
  CancelResult,
  DeadLetter,
  DeadLettersOptions,
  DispatcherStats,
  DispatchRequest,
  Enqueued,
  EnqueuedMany,
  LaneRef,
  LoggedOutcome,
  Outcome,
  OutcomesOptions,
  PruneOptions,
  PruneResult,
  RedeliverOptions,
} from "./contract/types.ts";
import { Life } from "./doors/due/life.ts";
import { batchRecord } from "./format/payload.ts";
import { adopt } from "./operate/adopt.ts";
import { abandon, cancelMembers } from "./operate/batch-control.ts";
import { cancelMany, cancelOne } from "./operate/cancel-requests.ts";
import { findRequests } from "./operate/find-requests.ts";
import { heldUntil } from "./operate/held-until.ts";
import {
  cancelWhich,
  checkName,
  laneRef,
  pollFilter,
  reasonOf,
  requestsOptions,
  retryOptions,
  retryWhich,
  usageFilter,
} from "./operate/operator-options.ts";
import { pauseAccount, pauseLane, resumeAccount, resumeLane } from "./operate/pausing.ts";
import { pollNow } from "./operate/poll-now.ts";
import { type RowOf, retryRequests } from "./operate/retry-requests.ts";
import { dispatcherStats } from "./operate/stats.ts";
import {
  abandonOptions,
  checkBatchFilter,
  checkResultOptions,
  deadLettersOptions,
  keysOf,
  outcomesOptions,
  pruneOptions,
  redeliverOptions,
  runDueOptions,
} from "./options/call-options.ts";
import { type ResolvedOptions, resolveOptions } from "./options/resolve-options.ts";
import { Enqueuer } from "./requests/enqueue/enqueuer.ts";
import { type EstimateInput, estimate } from "./requests/estimate/estimator.ts";
import { readDeadLetters, redeliver } from "./requests/outcomes/dead-letters.ts";
import { OutcomeReader } from "./requests/outcomes/outcome-reader.ts";
import { prune } from "./requests/prune.ts";
import { usageBy } from "./requests/usage.ts";
import { Runtime } from "./runtime/runtime.ts";

const BATCHES_SHOWN = 100;

/**
 * Makes a dispatcher over a store and one or more provider accounts.
 *
 * @example
 * ```ts
 * import { createDispatcher, memoryStore, type Account } from "batchwise/dispatch";
 * async function classify(account: Account, texts: readonly string[]): Promise<void> {
 *   const dispatcher = createDispatcher({ store: memoryStore(), accounts: [account] });
 *   await dispatcher.start();
 *   const messages = (content: string) => [{ role: "user", content }];
 *   await dispatcher.enqueueMany(texts.map((text) => ({ body: { model: "gpt-4o-mini", messages: messages(text) } })));
 *   for await (const outcome of dispatcher.outcomes()) console.log(outcome.id, outcome.status);
 * }
 * ```
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  return createDispatcherParts(resolveOptions(options)).dispatcher;
}

/** A dispatcher, with the parts that runBatch needs besides its methods. */
export interface DispatcherParts {
  readonly runtime: Runtime;
  readonly workers: Workers;
  readonly sealer: Sealer;
  readonly enqueuer: Enqueuer;
  readonly reader: OutcomeReader;
  readonly dispatcher: Dispatcher;
}

const made = new WeakMap<Dispatcher, DispatcherParts>();

/** Undefined for a value that `createDispatcher` did not make. */
export function partsOf(dispatcher: Dispatcher): DispatcherParts | undefined {
  return made.get(dispatcher);
}

export function createDispatcherParts(options: ResolvedOptions): DispatcherParts {
  const runtime = new Runtime(options);
  const workers = new Workers(runtime);
  const sealer = new Sealer(runtime, workers);
  const reader = new OutcomeReader(runtime, (lane, now) => sealer.closesAt(lane, now));
  const parts = { runtime, workers, sealer, reader, enqueuer: new Enqueuer(runtime, sealer) };
  const whole = { ...parts, dispatcher: new StoreDispatcher(parts) };
  made.set(whole.dispatcher, whole);
  return whole;
}

class StoreDispatcher implements Dispatcher {
  readonly #runtime: Runtime;
  readonly #workers: Workers;
  readonly #sealer: Sealer;
  readonly #reader: OutcomeReader;
  readonly #life: Life;
  readonly #enqueuer: Enqueuer;

  constructor({ runtime, workers, sealer, enqueuer, reader }: Omit<DispatcherParts, "dispatcher">) {
    this.#runtime = runtime;
    this.#workers = workers;
    this.#sealer = sealer;
    this.#enqueuer = enqueuer;
    this.#reader = reader;
    this.#life = new Life({ runtime, workers, sealer }, reader);
    bindMethods(this);
  }

  async start(): Promise<void> {
    this.#refuseWhenStopped();
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  async runDue(options: RunDueOptions): Promise<DueReport> {
    const plan = runDueOptions(options);
    this.#refuseWhenStopped();
    return this.#life.runDue(plan);
  }

  async enqueue(request: DispatchRequest | BatchLine): Promise<Enqueued> {
    this.#refuseWhenStopped();
    return this.#enqueuer.one(request);
  }

  async enqueueMany(requests: readonly (DispatchRequest | BatchLine)[]): Promise<EnqueuedMany> {
    this.#refuseWhenStopped();
    return this.#enqueuer.many(requests);
  }

  async estimate(requests: EstimateInput): Promise<Estimate> {
    return estimate(this.#runtime.options, requests);
  }

  flush(): void {
    this.#refuseWhenStopped();
    this.#sealer.flush();
  }

  async result(id: string, options: { readonly signal?: AbortSignal } = {}): Promise<Outcome> {
    checkResultOptions(options);
    return this.#reader.result(id, options.signal);
  }

  outcomes(options: OutcomesOptions = {}): AsyncIterableIterator<LoggedOutcome> {
    return this.#reader.outcomes(outcomesOptions(options));
  }

  cancel(id: string): Promise<CancelResult>;
  cancel(which: readonly string[] | CancelFilter): Promise<CancelCounts>;
  async cancel(which: string | readonly string[] | CancelFilter): Promise<CancelResult | CancelCounts> {
    this.#refuseWhenStopped();
    if (typeof which === "string") return cancelOne(this.#runtime, this.#startedWorkers, which);
    return cancelMany(this.#runtime, this.#startedWorkers, cancelWhich(which));
  }

  async retry(which: string | readonly string[] | RetryFilter, options: RetryRequestsOptions = {}): Promise<number> {
    this.#refuseWhenStopped();
    const chosen = typeof which === "string" ? [which] : retryWhich(which);
    const rowOf: RowOf = (...given) => this.#enqueuer.correctedRowOf(...given);
    return retryRequests(this.#runtime, chosen, retryOptions(chosen, options), rowOf);
  }

  async requests(options: RequestsOptions = {}): Promise<RequestPage> {
    return findRequests(this.#runtime, requestsOptions(options));
  }

  async requeue(keys: string | readonly string[]): Promise<number> {
    this.#refuseWhenStopped();
    return this.#workers.requeue(keysOf(keys));
  }

  async resume(keys: string | readonly string[]): Promise<number> {
    this.#refuseWhenStopped();
    return this.#workers.resume(keysOf(keys));
  }

  async cancelBatch(key: string): Promise<number> {
    this.#refuseWhenStopped();
    const { count, isQuarantined } = await cancelMembers(this.#runtime, key);
    // The store ends requeued requests with a pending cancel as cancelled.
    if (isQuarantined) await abandon(this.#runtime, key, "requeue");
    else if (this.#life.isStarted) await this.#workers.hurry([key]);
    return count;
  }

  async abandon(key: string, options: { readonly requests: "end" | "requeue" }): Promise<number> {
    this.#refuseWhenStopped();
    return abandon(this.#runtime, key, abandonOptions(options).requests);
  }

  async adopt(key: string, providerBatchId: string): Promise<BatchRecord> {
    this.#refuseWhenStopped();
    checkName("key", key);
    checkName("providerBatchId", providerBatchId);
    return adopt(this.#runtime, key, providerBatchId);
  }

  async pauseAccount(name: string, reason?: string): Promise<boolean> {
    this.#refuseWhenStopped();
    return pauseAccount(this.#runtime, name, reasonOf(reason));
  }

  async resumeAccount(name: string): Promise<boolean> {
    this.#refuseWhenStopped();
    return resumeAccount(this.#runtime, name);
  }

  async pauseLane(lane: LaneRef, reason?: string): Promise<boolean> {
    this.#refuseWhenStopped();
    return pauseLane(this.#runtime, laneRef(lane), reasonOf(reason));
  }

  async resumeLane(lane: LaneRef): Promise<boolean> {
    this.#refuseWhenStopped();
    return resumeLane(this.#runtime, laneRef(lane));
  }

  async pollNow(which: PollFilter): Promise<number> {
    this.#refuseWhenStopped();
    return pollNow(this.#runtime, pollFilter(which));
  }

  async usage(filter: UsageFilter = {}): Promise<UsageRecord[]> {
    return usageBy(this.#runtime, usageFilter(filter));
  }

  async batches(filter: BatchFilter = {}): Promise<BatchRecord[]> {
    checkBatchFilter(filter);
    const rows = await this.#runtime.store.batches({ limit: BATCHES_SHOWN, ...filter });
    return rows.map(batchRecord);
  }

  async deadLetters(options: DeadLettersOptions = {}): Promise<DeadLetter[]> {
    return readDeadLetters(this.#runtime, deadLettersOptions(options));
  }

  async redeliver(options: RedeliverOptions = {}): Promise<number> {
    this.#refuseWhenStopped();
    return redeliver(this.#runtime, redeliverOptions(options));
  }

  async prune(options: PruneOptions): Promise<PruneResult> {
    this.#refuseWhenStopped();
    return prune(this.#runtime, pruneOptions(options));
  }

  async stats(): Promise<DispatcherStats> {
    const { store, clock, options } = this.#runtime;
    const limit = options.thresholds.maxRequests;
    const probe = await store.probe(limit, clock.now());
    const held = await heldUntil(this.#runtime, probe);
    return dispatcherStats(probe, limit, await this.#runtime.readPauses(), this.#runtime, held);
  }

  on<Name extends DispatcherEventName>(event: Name, listener: DispatcherListener<Name>): () => void {
    return this.#runtime.events.on(event, listener);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Null in a process that only enqueues: stopping a batch early is optional and left to running
   * loops.
   */
  get #startedWorkers(): Workers | null {
    return this.#life.isStarted ? this.#workers : null;
  }

  #refuseWhenStopped(): void {
    if (this.#runtime.isStopping) throw new DispatchError("CLOSED", "The dispatcher is stopped.");
  }
}
