// The dispatcher that users hold. Wires intake, scheduler and outcomes to one store; passes calls on to them. It keeps no
// state that is not in the store, so any number of processes may run one on the same store, and any of them may die at
// any point. docs/dispatch-design.md says when a request runs twice.

import type { Estimate } from "./contract/cost.ts";
import { DispatchError } from "./contract/errors.ts";
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
  LoggedOutcome,
  Outcome,
  OutcomesOptions,
  RedeliverOptions,
} from "./contract/types.ts";
import { laneProper } from "./format/encode.ts";
import { batchRecord, CANCELLED } from "./format/payload.ts";
import { Enqueuer } from "./intake/enqueuer.ts";
import { type EstimateInput, estimate } from "./intake/estimator.ts";
import { abandon, cancelMembers } from "./ops/batch-control.ts";
import { dispatcherStats } from "./ops/stats.ts";
import {
  abandonOptions,
  checkBatchFilter,
  checkResultOptions,
  deadLettersOptions,
  outcomesOptions,
  redeliverOptions,
} from "./options/call-options.ts";
import type { DispatcherOptions } from "./options/dispatcher-options.ts";
import { resolveOptions } from "./options/resolve-options.ts";
import { readDeadLetters, redeliver } from "./outcomes/dead-letters.ts";
import { callbackDeliverer, type Deliverer, webhookDeliverer } from "./outcomes/deliverer.ts";
import { OutcomeReader } from "./outcomes/outcome-reader.ts";
import { Runtime } from "./runtime/runtime.ts";
import { Sealer } from "./scheduler/sealer.ts";
import { Workers } from "./scheduler/workers.ts";
import { sweeper } from "./steps/sweep.ts";

const BATCHES_SHOWN = 100;

export interface Dispatcher {
  /** Starts the loops. Requests can be enqueued before, and by processes that never start theirs. */
  start(): Promise<void>;
  /**
   * Cuts what only reads or uploads, waits for what the provider must be asked once only (each account's
   * `requestTimeoutMs` at most) and for `onOutcome` and webhooks under way (`leaseMs` at most; a callback that takes
   * longer will be called again), gives leases back, ends waits. The store stays open.
   */
  stop(): Promise<void>;
  /** Resolves once the request is durable. Throws a DispatchError, and stores nothing, for what cannot be sent. */
  enqueue(request: DispatchRequest | BatchLine): Promise<Enqueued>;
  /**
   * Checks all, then stores all, in order. A bad one rejects the call and nothing is stored. An id that is taken by
   * another body rejects it too, with DUPLICATE_ID, but the others are stored. Repeating the call changes nothing where
   * every request has an `id`; those without one would be stored again.
   */
  enqueueMany(requests: readonly (DispatchRequest | BatchLine)[]): Promise<Enqueued[]>;
  /**
   * What these requests would take: tokens, bytes, batches, dollars. Stores and sends nothing, and keeps sums only, so a
   * long iterable is fine. Rejects with a DispatchError, naming the place, for one that `enqueue` would refuse; does not
   * know which are enqueued already, nor ids that come twice.
   */
  estimate(
    requests: Iterable<DispatchRequest | BatchLine> | AsyncIterable<DispatchRequest | BatchLine>,
  ): Promise<Estimate>;
  /** The outcome of a request, however long it takes and whichever process records it. NOT_FOUND where there is none. */
  result(id: string, options?: { readonly signal?: AbortSignal }): Promise<Outcome>;
  /**
   * All outcomes in the order they were recorded, from `after` on. Waits for more until the dispatcher stops; with
   * `untilIdle` it ends once no request waits or is in a batch, and rejects with a QuarantinedError, which has the `keys`,
   * once only quarantined batches have some. A RangeError for a cursor beyond the log.
   */
  outcomes(options?: OutcomesOptions): AsyncIterableIterator<LoggedOutcome>;
  /**
   * Closes batches of all that has been enqueued until now without waiting for full batches, and later of what comes back
   * from these. Counts for the loops of this process: call it where `start` was called.
   */
  flush(): void;
  cancel(id: string): Promise<CancelResult>;
  /** Lets requests run again that ended without success. Gives the number of them. */
  retry(ids: string | readonly string[]): Promise<number>;
  /** Sends the open members of quarantined batches back to their lanes, uncharged. Gives the number of batches. */
  requeue(keys: string | readonly string[]): Promise<number>;
  /** Goes on with quarantined batches: looks at the provider's batch again, or sends one that nothing took. */
  resume(keys: string | readonly string[]): Promise<number>;
  /**
   * Cancels every request of a batch that has not ended: the batch is cancelled at the provider, what has run by then
   * keeps its result, and the others end as cancelled. Gives the number of these requests.
   */
  cancelBatch(key: string): Promise<number>;
  /**
   * Lets go of a batch that does not end: asks the provider to cancel it, and ends its requests as cancelled or sends
   * them back to their lane, uncharged. Results that still come count for nothing; what is requeued may run twice.
   */
  abandon(key: string, options: { readonly requests: "end" | "requeue" }): Promise<number>;
  batches(filter?: BatchFilter): Promise<BatchRecord[]>;
  /** Outcomes that the webhook has not taken in twelve tries, lowest cursor first. */
  deadLetters(options?: DeadLettersOptions): Promise<DeadLetter[]>;
  /** Delivers these again: twelve more tries each, from now on. Gives their number. */
  redeliver(options?: RedeliverOptions): Promise<number>;
  stats(): Promise<DispatcherStats>;
  [Symbol.asyncDispose](): Promise<void>;
}

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
  return new StoreDispatcher(new Runtime(resolveOptions(options)));
}

class StoreDispatcher implements Dispatcher {
  readonly #runtime: Runtime;
  readonly #workers: Workers;
  readonly #sealer: Sealer;
  readonly #reader: OutcomeReader;
  readonly #deliverers: readonly Deliverer[];
  readonly #enqueuer: Enqueuer;
  #isStarted = false;
  #stopped: Promise<void> | null = null;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#workers = new Workers(runtime);
    this.#sealer = new Sealer(runtime, this.#workers);
    this.#reader = new OutcomeReader(runtime);
    runtime.watching.start(this.#reader.turn);
    const { onOutcome, webhook } = runtime.options;
    this.#deliverers = [
      ...(onOutcome === null ? [] : [callbackDeliverer(runtime)]),
      ...(webhook === null ? [] : [webhookDeliverer(runtime, webhook)]),
    ];
    this.#enqueuer = new Enqueuer(runtime, this.#sealer);
  }

  async start(): Promise<void> {
    this.#refuseWhenStopped();
    this.#isStarted = true;
    const { sealing, working, sweeping, calling, posting, options } = this.#runtime;
    working.start(this.#workers.turn);
    sealing.start(this.#sealer.turn);
    sweeping.start(sweeper(this.#runtime));
    const loops = [...(options.onOutcome === null ? [] : [calling]), ...(options.webhook === null ? [] : [posting])];
    for (const [index, loop] of loops.entries()) loop.start((this.#deliverers[index] as Deliverer).turn);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const { stopping, sealing, working, watching, sweeping, calling, posting } = this.#runtime;
    stopping.abort(new DispatchError("CLOSED", "The dispatcher is stopped."));
    await Promise.all([sealing, working, sweeping, calling, posting].map((loop) => loop.stop()));
    await this.#workers.idle();
    await watching.stop();
    this.#reader.close();
    for (const deliverer of this.#deliverers) {
      // What could not be reported is delivered again: at least once, not exactly once.
      await deliverer.flush().catch((error: unknown) => this.#runtime.report(error, { operation: "deliver" }));
    }
  }

  async enqueue(request: DispatchRequest | BatchLine): Promise<Enqueued> {
    this.#refuseWhenStopped();
    return this.#enqueuer.one(request);
  }

  async enqueueMany(requests: readonly (DispatchRequest | BatchLine)[]): Promise<Enqueued[]> {
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

  async cancel(id: string): Promise<CancelResult> {
    this.#refuseWhenStopped();
    const { store, sinks, clock } = this.#runtime;
    const change = { kind: "cancel", ids: [id], ...CANCELLED } as const;
    const [answer] = await store.amend(change, sinks, clock.now());
    if (answer?.result === "changed") {
      this.#runtime.outcomesRecorded();
      return "cancelled";
    }
    if (answer?.result !== "requested") return answer?.result === "ended" ? "ended" : "not_found";
    // The cancel is durable. Stopping the batch early is optional, and only processes with running loops do it.
    if (this.#isStarted)
      await this.#hurryCancelled(id).catch((error: unknown) => this.#runtime.report(error, { operation: "store" }));
    return "requested";
  }

  async retry(ids: string | readonly string[]): Promise<number> {
    this.#refuseWhenStopped();
    const { store, sinks, clock, sealing } = this.#runtime;
    const requests = await store.requests({ ids: typeof ids === "string" ? [ids] : ids });
    // A request that failed in a half of a split batch goes back to the lane itself, not to that half's group.
    const lanes = requests.map(({ lane }) => laneProper(lane));
    const change = { kind: "retry", ids: requests.map(({ id }) => id), lanes } as const;
    const answers = await store.amend(change, sinks, clock.now());
    sealing.wake();
    return answers.filter(({ result }) => result === "changed").length;
  }

  requeue(keys: string | readonly string[]): Promise<number> {
    this.#refuseWhenStopped();
    return this.#workers.requeue(typeof keys === "string" ? [keys] : keys);
  }

  resume(keys: string | readonly string[]): Promise<number> {
    this.#refuseWhenStopped();
    return this.#workers.resume(typeof keys === "string" ? [keys] : keys);
  }

  async cancelBatch(key: string): Promise<number> {
    this.#refuseWhenStopped();
    const { count, isAside } = await cancelMembers(this.#runtime, key);
    // The store ends those as cancelled that go back with a wish to be.
    if (isAside) await abandon(this.#runtime, key, "requeue");
    else if (this.#isStarted) await this.#workers.hurry(key);
    return count;
  }

  async abandon(key: string, options: { readonly requests: "end" | "requeue" }): Promise<number> {
    this.#refuseWhenStopped();
    return abandon(this.#runtime, key, abandonOptions(options).requests);
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

  async stats(): Promise<DispatcherStats> {
    const { store, clock, options } = this.#runtime;
    const probe = await store.probe(options.thresholds.maxRequests, clock.now());
    return dispatcherStats(probe, this.#runtime);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Leases the request's batch at once when all of its open members are cancelled, instead of at its next poll. */
  async #hurryCancelled(id: string): Promise<void> {
    const { store } = this.#runtime;
    const [request] = await store.requests({ ids: [id] });
    if (request === undefined || request.batchKey === null) return;
    const [batch] = await store.batches({ keys: [request.batchKey], limit: 1 });
    if (batch !== undefined && batch.cancelRequested === batch.remaining) await this.#workers.hurry(batch.key);
  }

  #refuseWhenStopped(): void {
    if (this.#runtime.isStopping) throw new DispatchError("CLOSED", "The dispatcher is stopped.");
  }
}
