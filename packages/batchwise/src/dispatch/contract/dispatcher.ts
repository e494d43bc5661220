// The interface of the dispatcher that users hold; dispatcher.ts implements it. What operators call
// is in operations.ts.

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

/** What `createDispatcher` returns: requests in, outcomes out, and what operators need between. */
export interface Dispatcher extends OperatorMethods {
  /**
   * Starts the loops. Requests can be enqueued before, and by processes that never start theirs.
   * Calls the store once first: one that does not answer is tried again by the loops.
   *
   * @throws DispatchError with what a person has to correct in the store: `STORE_FORBIDDEN`,
   * `STORE_SCHEMA`, `STORE_DAMAGED`, `STORE_EVICTS`, `STORE_READ_ONLY` of a file. Nothing runs
   * then, and `start` may be called again. Later such faults are told to `onError`, and the loops
   * go on trying.
   */
  start(): Promise<void>;
  /**
   * Cuts what only reads or uploads, waits for what the provider must be asked once only (each
   * account's `requestTimeoutMs` at most) and for `onOutcome` and webhooks under way (`leaseMs` at
   * most; a callback that takes longer will be called again), gives leases back, ends waits. The
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
   * Rejects with ALREADY_STARTED after `start`, with the signal's reason, and with the store's
   * error if it does not answer at the end.
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
   * Resolves once the request is durable. Throws a DispatchError, and stores nothing, for what
   * cannot be sent.
   */
  enqueue(request: DispatchRequest | BatchLine): Promise<Enqueued>;
  /**
   * An id is unique in the store for ever: a line with the id of an earlier one, such as
   * `request-1` of yesterday's file, is the same request where the body is the same, and gives
   * yesterday's outcome. `existingCount` of the answer says how many are. Put the file's name or
   * the date before ids that begin anew in each file.
   *
   * Checks all, then stores all, in order. A bad one rejects the call and nothing is stored. An id
   * that is taken by another body rejects it too, with DUPLICATE_ID, but the others are stored.
   * Repeating the call changes nothing where every request has an `id`; those without one would be
   * stored again.
   */
  enqueueMany(requests: readonly (DispatchRequest | BatchLine)[]): Promise<EnqueuedMany>;
  /**
   * What these requests would take: tokens, bytes, batches, dollars. Stores and sends nothing, and
   * keeps sums only, so a long iterable is fine. Rejects with a DispatchError, naming the place,
   * for one that `enqueue` would refuse; does not know which are enqueued already, nor ids that
   * come twice.
   */
  estimate(
    requests: Iterable<DispatchRequest | BatchLine> | AsyncIterable<DispatchRequest | BatchLine>,
  ): Promise<Estimate>;
  /**
   * The outcome of a request, however long it takes and whichever process records it. NOT_FOUND
   * where there is none.
   */
  result(id: string, options?: { readonly signal?: AbortSignal }): Promise<Outcome>;
  /**
   * All outcomes in the order they were recorded, from `after` on. Waits for more until the
   * dispatcher stops; with `untilIdle` it ends once no request waits or is in a batch (looked at
   * from when it has resolved, where it is a promise), and rejects with a QuarantinedError, which
   * has the `keys`, once only quarantined batches have some. A RangeError for a cursor beyond the
   * log.
   */
  outcomes(options?: OutcomesOptions): AsyncIterableIterator<LoggedOutcome>;
  /**
   * Closes batches of all that has been enqueued until now without waiting for full batches, and
   * later of what comes back from these. Counts for the loops of this process: call it where
   * `start` was called.
   */
  flush(): void;
  /**
   * Sends the open members of quarantined batches back to their lanes, uncharged. Gives the number
   * of batches.
   */
  requeue(keys: string | readonly string[]): Promise<number>;
  /**
   * Goes on with quarantined batches: looks at the provider's batch again, or sends one that
   * nothing took.
   */
  resume(keys: string | readonly string[]): Promise<number>;
  /**
   * Cancels every request of a batch that has not ended: the batch is cancelled at the provider,
   * what has run by then keeps its result, and the others end as cancelled. Gives the number of
   * these requests.
   */
  cancelBatch(key: string): Promise<number>;
  /**
   * Lets go of a batch that does not end: asks the provider to cancel it, and ends its requests as
   * cancelled or sends them back to their lane, uncharged. Results that still come count for
   * nothing; what is requeued may run twice.
   */
  abandon(key: string, options: { readonly requests: "end" | "requeue" }): Promise<number>;
  batches(filter?: BatchFilter): Promise<BatchRecord[]>;
  /** Outcomes that the webhook has not taken in twelve tries, lowest cursor first. */
  deadLetters(options?: DeadLettersOptions): Promise<DeadLetter[]>;
  /** Delivers these again: twelve more tries each, from now on. Gives their number. */
  redeliver(options?: RedeliverOptions): Promise<number>;
  /**
   * Lets go of outcomes that were recorded so long ago, in small steps: of their requests only id
   * and digest stay, so that the same enqueue is still `existing`. `result` rejects with PRUNED,
   * `outcomes` passes over them, `retry` does not find them, and `stats` still counts them. What
   * `onOutcome` or the webhook has not taken yet stays; what was given up goes. Ended batches go
   * once all of their requests have, two days after they ended at the earliest.
   */
  prune(options: PruneOptions): Promise<PruneResult>;
  stats(): Promise<DispatcherStats>;
  /**
   * Calls the listener at each of these events, in this process, from now on. Returns a function
   * that ends it. What a listener throws, or rejects with, is told to `onError`. INVALID_OPTION for
   * a name that is no event's.
   */
  on<Name extends DispatcherEventName>(event: Name, listener: DispatcherListener<Name>): () => void;
  [Symbol.asyncDispose](): Promise<void>;
}
