// The dispatcher for users. Connects intake, scheduler and outcomes with one store and forwards
// calls. All state is in the store, so any number of processes may run on the same store, and any
// of them may crash at any point. docs/dispatch-design.md says when a request runs twice.

import { bindMethods } from "../core/contract/bind-methods.ts";
import { Sealer } from "./batches/seal/sealer.ts";
import { Workers } from "./batches/workers.ts";
import type { Dispatcher } from "./contract/dispatcher.ts";
import type { DispatcherOptions } from "./contract/dispatcher-options.ts";
import { DispatchError } from "./contract/errors.ts";
import type { CancelCounts, CancelFilter } from "./contract/operations.ts";
import type { CancelResult } from "./contract/types.ts";
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
import { retryRequests } from "./operate/retry-requests.ts";
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
import { estimate } from "./requests/estimate/estimator.ts";
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

type OwnParts = Omit<DispatcherParts, "dispatcher">;

class StoreDispatcher implements Dispatcher {
  readonly #parts: OwnParts & { readonly life: Life };

  constructor(parts: OwnParts) {
    this.#parts = { ...parts, life: new Life(parts, parts.reader) };
    bindMethods(this);
  }

  readonly start: Dispatcher["start"] = async () => this.#running.life.start();

  readonly stop: Dispatcher["stop"] = () => this.#parts.life.stop();

  readonly runDue: Dispatcher["runDue"] = async (options) => {
    const plan = runDueOptions(options);
    return this.#running.life.runDue(plan);
  };

  readonly enqueue: Dispatcher["enqueue"] = async (request) => this.#running.enqueuer.one(request);

  readonly enqueueMany: Dispatcher["enqueueMany"] = async (requests) => this.#running.enqueuer.many(requests);

  readonly estimate: Dispatcher["estimate"] = async (requests) => estimate(this.#parts.runtime.options, requests);

  readonly flush: Dispatcher["flush"] = () => this.#running.sealer.flush();

  readonly result: Dispatcher["result"] = async (id, options = {}) => {
    checkResultOptions(options);
    return this.#parts.reader.result(id, options.signal);
  };

  readonly outcomes: Dispatcher["outcomes"] = (options = {}) => this.#parts.reader.outcomes(outcomesOptions(options));

  cancel(id: string): Promise<CancelResult>;
  cancel(which: readonly string[] | CancelFilter): Promise<CancelCounts>;
  async cancel(which: string | readonly string[] | CancelFilter): Promise<CancelResult | CancelCounts> {
    const { runtime, life, workers } = this.#running;
    // Stopping a batch early is optional: a process that only enqueues leaves it to running loops.
    const started = life.isStarted ? workers : null;
    if (typeof which === "string") return cancelOne(runtime, started, which);
    return cancelMany(runtime, started, cancelWhich(which));
  }

  readonly retry: Dispatcher["retry"] = async (which, options = {}) => {
    const { runtime, enqueuer } = this.#running;
    const chosen = typeof which === "string" ? [which] : retryWhich(which);
    return retryRequests(runtime, chosen, retryOptions(chosen, options), (...row) => enqueuer.correctedRowOf(...row));
  };

  readonly requests: Dispatcher["requests"] = async (options = {}) =>
    findRequests(this.#parts.runtime, requestsOptions(options));

  readonly requeue: Dispatcher["requeue"] = async (keys) => this.#running.workers.requeue(keysOf(keys));

  readonly resume: Dispatcher["resume"] = async (keys) => this.#running.workers.resume(keysOf(keys));

  readonly cancelBatch: Dispatcher["cancelBatch"] = async (key) => {
    const { runtime, life, workers } = this.#running;
    const { count, isQuarantined } = await cancelMembers(runtime, key);
    // The store ends requeued requests with a pending cancel as cancelled.
    if (isQuarantined) await abandon(runtime, key, "requeue");
    else if (life.isStarted) await workers.hurry([key]);
    return count;
  };

  readonly abandon: Dispatcher["abandon"] = async (key, options) =>
    abandon(this.#running.runtime, key, abandonOptions(options).requests);

  readonly adopt: Dispatcher["adopt"] = async (key, providerBatchId) => {
    const { runtime } = this.#running;
    checkName("key", key);
    checkName("providerBatchId", providerBatchId);
    return adopt(runtime, key, providerBatchId);
  };

  readonly pauseAccount: Dispatcher["pauseAccount"] = async (name, reason) =>
    pauseAccount(this.#running.runtime, name, reasonOf(reason));

  readonly resumeAccount: Dispatcher["resumeAccount"] = async (name) => resumeAccount(this.#running.runtime, name);

  readonly pauseLane: Dispatcher["pauseLane"] = async (lane, reason) =>
    pauseLane(this.#running.runtime, laneRef(lane), reasonOf(reason));

  readonly resumeLane: Dispatcher["resumeLane"] = async (lane) => resumeLane(this.#running.runtime, laneRef(lane));

  readonly pollNow: Dispatcher["pollNow"] = async (which) => pollNow(this.#running.runtime, pollFilter(which));

  readonly usage: Dispatcher["usage"] = async (filter = {}) => usageBy(this.#parts.runtime, usageFilter(filter));

  readonly batches: Dispatcher["batches"] = async (filter = {}) => {
    checkBatchFilter(filter);
    const rows = await this.#parts.runtime.store.batches({ limit: BATCHES_SHOWN, ...filter });
    return rows.map(batchRecord);
  };

  readonly deadLetters: Dispatcher["deadLetters"] = async (options = {}) =>
    readDeadLetters(this.#parts.runtime, deadLettersOptions(options));

  readonly redeliver: Dispatcher["redeliver"] = async (options = {}) =>
    redeliver(this.#running.runtime, redeliverOptions(options));

  readonly prune: Dispatcher["prune"] = async (options) => prune(this.#running.runtime, pruneOptions(options));

  readonly stats: Dispatcher["stats"] = async () => {
    const { runtime } = this.#parts;
    const limit = runtime.options.thresholds.maxRequests;
    const probe = await runtime.store.probe(limit, runtime.clock.now());
    const held = await heldUntil(runtime, probe);
    return dispatcherStats(probe, limit, await runtime.readPauses(), runtime, held);
  };

  readonly on: Dispatcher["on"] = (event, listener) => this.#parts.runtime.events.on(event, listener);

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** The parts. Throws once the dispatcher is stopped. */
  get #running(): OwnParts & { readonly life: Life } {
    if (this.#parts.runtime.isStopping) throw new DispatchError("CLOSED", "The dispatcher is stopped.");
    return this.#parts;
  }
}
