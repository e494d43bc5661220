// The interface of the dispatcher for users; dispatcher.ts implements it. Methods for operators are
// in operations.ts.

import type { Estimate } from "./cost.ts";
import type { DispatcherEventName, DispatcherListener } from "./events.ts";
import type { DueReport, OperatorMethods, RunDueOptions } from "./operations.ts";
import type {
  BatchFilter,
  BatchLine,
  BatchRecord,
  DeadLetter,
  DeadLettersOptions,
  DispatcherStats,
  DispatchRequest,
  Enqueued,
  EnqueuedMany,
  LoggedOutcome,
  Outcome,
  OutcomesOptions,
  PruneOptions,
  PruneResult,
  RedeliverOptions,
} from "./types.ts";

/**
 * The result of `createDispatcher`: takes requests, returns outcomes, and has the operator methods.
 */
export interface Dispatcher extends OperatorMethods {
  /**
   * Starts the loops. Requests can be enqueued before, and by processes that never start theirs.
   * First calls the store once; if it does not answer, the loops try again.
   *
   * @throws DispatchError for a fault of the store that an operator must correct:
   * `STORE_FORBIDDEN`, `STORE_SCHEMA`, `STORE_DAMAGED`, `STORE_EVICTS`, `STORE_READ_ONLY` of a
   * file. Then nothing runs, and `start` may be called again. Later such faults are reported to
   * `onError`, and the loops keep trying.
   */
  start(): Promise<void>;
  /**
   * Stops the loops. Aborts reads and uploads; waits for calls that must reach the provider only
   * once (at most each account's `requestTimeoutMs`) and for running `onOutcome` calls and webhooks
   * (at most `leaseMs`; a longer callback will be called again); gives leases back; ends waits. The
   * store stays open.
   */
  stop(): Promise<void>;
  /**
   * For places where no process stays, such as cron on a serverless platform: does all due work,
   * returns all leases, and resolves. Use it instead of `start`: each call is like a process that
   * starts, works and stops within `maxMs`. Calls may overlap, in one process or in several. Call
   * it again at `nextAt`, or at intervals.
   *
   * Calls to providers end with `maxMs`. A later run looks for a create that was cut off, as after
   * a crash. Batches have a size that uploads within `maxMs`, by the speed of earlier uploads; a
   * file that does not is reported to `onError`, with its name, as RUN_TOO_SHORT. Results that were
   * read stay settled.
   *
   * Rejects with ALREADY_STARTED after `start`, with the signal's reason, with the store's error if
   * it fails at the end, and with STORE_UNAVAILABLE if it does not answer within `maxMs`.
   *
   * @throws TypeError or RangeError with `code: "INVALID_OPTION"` for `maxMs` below 100.
   *
   * @example
   * ```ts
   * import type { Dispatcher } from "batchwise/dispatch";
   * // A route that cron calls each minute.
   * async function everyMinute(dispatcher: Dispatcher): Promise<Response> {
   *   return Response.json(await dispatcher.runDue({ maxMs: 50_000 }));
   * }
   * ```
   */
  runDue(options: RunDueOptions): Promise<DueReport>;
  /**
   * Resolves once the request is durable. Throws a DispatchError, and stores nothing, for an
   * invalid request.
   */
  enqueue(request: DispatchRequest | BatchLine): Promise<Enqueued>;
  /**
   * Stores many requests. An id is unique in the store for ever: a line with an earlier id, such as
   * `request-1` of yesterday's file, is the same request if the body is equal, and gives
   * yesterday's outcome. `existingCount` of the result says how many are. Put the file's name or
   * the date before ids that start again in each file.
   *
   * Checks all, then stores all, in order. An invalid one rejects the call and nothing is stored.
   * An id that another body has rejects it too, with DUPLICATE_ID, but the others are stored.
   * Repeating the call changes nothing if every request has an `id`; those without one would be
   * stored again.
   */
  enqueueMany(requests: readonly (DispatchRequest | BatchLine)[]): Promise<EnqueuedMany>;
  /**
   * Estimates tokens, bytes, batches and dollars of these requests. Stores and sends nothing, and
   * keeps only sums, so the iterable may be long. Rejects with a DispatchError that names the index
   * for a request that `enqueue` would refuse. Ignores whether a request is already enqueued, and
   * repeated ids.
   */
  estimate(
    requests: Iterable<DispatchRequest | BatchLine> | AsyncIterable<DispatchRequest | BatchLine>,
  ): Promise<Estimate>;
  /**
   * Resolves with the outcome of a request, however long it takes, even if another process records
   * it. NOT_FOUND for an unknown id.
   */
  result(id: string, options?: { readonly signal?: AbortSignal }): Promise<Outcome>;
  /**
   * All outcomes after `after`, in order of recording. Waits for more until the dispatcher stops.
   * With `untilIdle` it ends once no request waits or is in a batch (if it is a promise, once it
   * has resolved), and rejects with a QuarantinedError, which has the `keys`, once only quarantined
   * batches have some. A RangeError for a cursor beyond the log.
   */
  outcomes(options?: OutcomesOptions): AsyncIterableIterator<LoggedOutcome>;
  /**
   * Closes batches of all requests enqueued so far without waiting for full batches, also of their
   * later retries. Affects the loops of this process: call it where `start` was called.
   */
  flush(): void;
  /**
   * Returns the open members of quarantined batches to their lanes, uncharged. Returns the number
   * of batches.
   */
  requeue(keys: string | readonly string[]): Promise<number>;
  /**
   * Continues quarantined batches: polls the provider's batch again, or sends one that was never
   * accepted.
   */
  resume(keys: string | readonly string[]): Promise<number>;
  /**
   * Cancels every open request of a batch: the batch is cancelled at the provider, requests that
   * ran by then keep their results, and the others end as cancelled. Returns the number of these
   * requests.
   */
  cancelBatch(key: string): Promise<number>;
  /**
   * Abandons a batch that does not end: cancels it at the provider, and ends its requests as
   * cancelled or returns them to their lane, uncharged. Later results are ignored; requeued
   * requests may run twice.
   */
  abandon(key: string, options: { readonly requests: "end" | "requeue" }): Promise<number>;
  batches(filter?: BatchFilter): Promise<BatchRecord[]>;
  /** Outcomes that the webhook has not accepted in twelve tries, lowest cursor first. */
  deadLetters(options?: DeadLettersOptions): Promise<DeadLetter[]>;
  /** Delivers these again, with twelve more tries each from now on. Returns their number. */
  redeliver(options?: RedeliverOptions): Promise<number>;
  /**
   * Prunes outcomes of this age, in small steps. Of their requests only id and digest stay, so that
   * the same enqueue is still `existing`. `result` rejects with PRUNED, `outcomes` skips them,
   * `retry` does not find them, and `stats` still counts them. Outcomes that `onOutcome` or the
   * webhook has not accepted yet stay; abandoned ones are pruned. Ended batches are deleted once
   * all of their requests are pruned, at least two days after they ended.
   */
  prune(options: PruneOptions): Promise<PruneResult>;
  stats(): Promise<DispatcherStats>;
  /**
   * Adds a listener for an event in this process. Returns a function that removes it. `onError`
   * gets its errors. INVALID_OPTION for an unknown event.
   */
  on<Name extends DispatcherEventName>(event: Name, listener: DispatcherListener<Name>): () => void;
  [Symbol.asyncDispose](): Promise<void>;
}
