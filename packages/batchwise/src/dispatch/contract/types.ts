// The public types of the dispatcher: inputs and results. Types only. Times are ms since 1970
// (`...At`) or durations in ms (`...Ms`). Bodies are in OpenAI's format.

/** A value that JSON text can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };

/** A JSON object: request bodies, response bodies, metadata. */
export type JsonObject = { readonly [key: string]: Json | undefined };

/** The endpoints whose tokens the dispatcher can count. */
export type KnownEndpoint =
  | "/v1/chat/completions"
  | "/v1/embeddings"
  | "/v1/responses"
  | "/v1/completions"
  | "/v1/moderations"
  | "/v1/images/generations"
  | "/v1/messages";

/** The endpoint of a request: one in the `capabilities.endpoints` of an account. */
export type Endpoint = KnownEndpoint | (string & Readonly<Record<never, never>>);

/** One request to enqueue. `requestDefaults` are merged under `body`. */
export interface DispatchRequest {
  readonly body: JsonObject;
  /** The caller's name for it and its idempotency key: 1 to 256 characters. Generated if absent. */
  readonly id?: string;
  /**
   * Default: `/v1/chat/completions` for a body with `messages`, `/v1/embeddings` for one with
   * `input`.
   */
  readonly endpoint?: Endpoint;
  /** Higher goes first. A safe integer. Default 0. */
  readonly priority?: number;
  /**
   * After this time it is sent in no batch and ends as `expired`, uncharged. A result of an earlier
   * send still counts.
   */
  readonly deadlineAt?: number;
  /**
   * The request's tenant: tenants share batches by tokens. Requests without one share one tenant.
   */
  readonly tenant?: string;
  /** The job that it belongs to: `outcomes({ job })` gives only that job's outcomes. */
  readonly job?: string;
  /**
   * Returned with the outcome, never sent to the provider. At most 16 KB (16,384 bytes) as JSON.
   */
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * A line of an OpenAI batch file: `custom_id` is the id, `url` the endpoint. Defaults are not
 * merged into it.
 */
export interface BatchLine {
  readonly custom_id: string;
  readonly method: "POST";
  readonly url: string;
  readonly body: JsonObject;
}

/** The result of `enqueue`, once the request is durable. */
export interface Enqueued {
  readonly id: string;
  /** True if the same id and body already existed: nothing was added. */
  readonly existing: boolean;
}

/** The result of `enqueueMany`: one entry per request, in order. */
export interface EnqueuedMany extends Array<Enqueued> {
  /** How many of them existed before. They are not sent again, and have the earlier outcome. */
  readonly existingCount: number;
}

/** How a request has ended. */
export type OutcomeStatus = "succeeded" | "failed" | "cancelled" | "expired";

/** The provider's answer to one request. */
export interface OutcomeResponse {
  readonly statusCode: number;
  readonly body: JsonObject;
}

/** Why a request has no answer. */
export interface OutcomeError {
  readonly code: string;
  readonly message: string;
}

/** Token counts of the provider. */
export interface Usage {
  /** All of the input, cached or not. */
  readonly inputTokens: number;
  /** Input read from a prompt cache, at a lower price. Cache writes do not count here. */
  readonly cachedTokens: number;
  /** All of the output, including reasoning. */
  readonly outputTokens: number;
  /** Output of hidden reasoning, if the provider counts it. */
  readonly reasoningTokens: number;
  readonly totalTokens: number;
}

/** How a request ended. A `failed` one may have a response: the provider's error answer. */
export interface Outcome {
  readonly id: string;
  readonly status: OutcomeStatus;
  readonly response: OutcomeResponse | null;
  readonly error: OutcomeError | null;
  /**
   * Charged tries, including the one with this outcome. Backpressure and splitting charge nothing.
   */
  readonly attempts: number;
  readonly usage: Usage | null;
  /** Key of the batch in which it ended; null if it ended while it waited. */
  readonly batch: string | null;
}

/** An outcome read from the durable log. */
export interface LoggedOutcome extends Outcome {
  /** Pass the last one to `outcomes({ after })` to continue from there, also in another process. */
  readonly cursor: number;
  readonly recordedAt: number;
  readonly tenant: string;
  /** "" for none. */
  readonly job: string;
  readonly metadata: Readonly<Record<string, string>> | null;
}

/** Which outcomes to read, from which cursor, and until when. */
export interface OutcomesOptions {
  /** The cursor of the last handled outcome. Default 0: all. */
  readonly after?: number;
  /**
   * End when no work is left; reject with QUARANTINED if the rest needs an operator's decision.
   * Default false. A promise, such as that of the enqueueing code: the same after it resolves;
   * rejects if it does.
   */
  readonly untilIdle?: boolean | PromiseLike<unknown>;
  /** Only outcomes of this job; then `untilIdle` waits only for this job's requests. */
  readonly job?: string;
}

/** Where outcomes are delivered: `onOutcome`, or the webhook. */
export type DeliverySink = "callback" | "webhook";

/** Which undelivered outcomes to read. */
export interface DeadLettersOptions {
  /** Default `"webhook"`: deliveries to a callback are never abandoned. */
  readonly sink?: DeliverySink;
  /** Only outcomes with a higher cursor. Default 0. */
  readonly after?: number;
  /** Default 100. */
  readonly limit?: number;
}

/** Which outcomes to deliver again. */
export interface RedeliverOptions {
  /** Default `"webhook"`. */
  readonly sink?: DeliverySink;
  /** Only outcomes with a higher cursor. Default 0: all. */
  readonly after?: number;
}

/** An outcome that could not be delivered, and the result of its last try. */
export interface DeadLetter {
  readonly sink: DeliverySink;
  readonly outcome: LoggedOutcome;
  readonly tries: number;
  readonly lastTryAt: number | null;
  readonly statusCode: number | null;
  readonly error: string | null;
}

/** Which ended requests to prune. */
export interface PruneOptions {
  /**
   * Only outcomes recorded at least this many ms ago. 0 for all, possibly before you have read
   * them.
   */
  readonly olderThanMs: number;
  /** Only outcomes with one of these. Default: all. */
  readonly statuses?: readonly OutcomeStatus[];
  /**
   * Also forgets ids of requests pruned at least this many ms ago: such an id may run again.
   * Default: the dispatcher's `tombstoneRetentionMs`.
   */
  readonly tombstoneRetentionMs?: number;
}

/** The result of `prune`. */
export interface PruneResult {
  /** Requests that were reduced to id and digest. */
  readonly requests: number;
  /** Deleted batches. */
  readonly batches: number;
  /** Old outcomes that are kept, because `onOutcome` or the webhook has not taken them yet. */
  readonly kept: number;
}

/**
 * When a batch closes: reaching any one is enough. All but `maxAgeMs` are also caps of every batch.
 */
export interface Thresholds {
  readonly maxRequests: number;
  /** Size of the encoded file, with envelopes and newlines. */
  readonly maxBytes: number;
  /** Estimated prompt tokens. */
  readonly maxTokens: number;
  /** Age of the oldest waiting request. */
  readonly maxAgeMs: number;
}

/** The state of a batch. */
export type BatchState =
  | "sealed"
  | "submitting"
  | "unknown"
  | "waiting_capacity"
  | "submitted"
  | "running"
  | "collecting"
  | "quarantined"
  | "done";

/** A batch, for operators. */
export interface BatchRecord {
  readonly key: string;
  readonly account: string;
  readonly endpoint: Endpoint;
  readonly model: string;
  readonly state: BatchState;
  readonly requests: number;
  readonly bytes: number;
  readonly tokens: number;
  /** Members without a decision yet; 0 once the batch is done. */
  readonly remaining: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly submitAttempt: number;
  readonly providerBatchId: string | null;
  readonly providerState: string | null;
  /** Why it waits, failed or was quarantined. */
  readonly lastError: OutcomeError | null;
  /** Provider batches that once had this batch's tag or place, and how each was handled. */
  readonly orphans: readonly Orphan[];
}

/** A provider batch that is not, or no longer, the one of record. */
export interface Orphan {
  readonly providerBatchId: string;
  readonly seenAt: number;
  /**
   * `ended`: an earlier attempt that failed as a whole. `foreign`: adopted by mistake and given up.
   * `adopted`: of record, by an operator, while the batch was quarantined.
   */
  readonly action: "cancelled" | "ended" | "foreign" | "ignored" | "adopted";
}

/** Which batches `batches()` returns. */
export interface BatchFilter {
  readonly keys?: readonly string[];
  readonly states?: readonly BatchState[];
  readonly account?: string;
  /** Newest first; at most this many. Default 100. */
  readonly limit?: number;
}

/** The waiting requests of one lane. */
export interface LaneStats {
  readonly endpoint: Endpoint;
  readonly model: string;
  /** Counted up to `thresholds.maxRequests` in each lane. */
  readonly waiting: number;
  /**
   * True if the count stopped at that number: more may wait. Bytes and tokens cover only the
   * counted ones.
   */
  readonly orMore: boolean;
  readonly bytes: number;
  readonly tokens: number;
  readonly oldestAt: number | null;
}

/** Work in flight on one limit of an account. */
export interface LedgerStats {
  readonly name: string;
  readonly tokens: number;
  readonly requests: number;
  readonly batches: number;
  readonly learnedTokens: number | null;
  readonly blockedUntil: number;
}

/** The requests of one endpoint and model. */
export interface LaneRef {
  readonly endpoint: Endpoint;
  readonly model: string;
}

/** Since when, and why, nothing new is sent. */
export interface PauseRecord {
  readonly since: number;
  /**
   * The reason given to `pauseAccount` or `pauseLane`, or the account and its provider's message;
   * null for none.
   */
  readonly reason: string | null;
}

/**
 * Pauses by operators, for all processes of the store, and lanes that pause because their requests
 * are refused.
 */
export interface PausedRecord {
  readonly accounts: readonly (PauseRecord & { readonly name: string })[];
  readonly lanes: readonly (PauseRecord & LaneRef)[];
}

/** Waiting work, work in flight, and ages. */
export interface DispatcherStats {
  readonly lanes: readonly LaneStats[];
  readonly ledgers: readonly LedgerStats[];
  readonly batches: Readonly<Record<BatchState, number>>;
  /** Members of batches that have not ended. */
  readonly inBatches: number;
  /** If all remaining work waits for a retry: the time of the first. Else null. */
  readonly nextTryAt: number | null;
  /**
   * If other processes, also crashed ones, lease all open batches (100 at most): the end of the
   * first lease, unless its live process renews it. Else null.
   */
  readonly heldUntil: number | null;
  /** Outcomes recorded since the store was made. A retried request counts again. */
  readonly outcomes: Readonly<Record<OutcomeStatus, number>>;
  /** Deliveries not made yet, for any reason. Abandoned ones are in `deadLetters()` instead. */
  readonly deliveriesWaiting: number;
  /** Pauses by operators, for all processes. */
  readonly paused: PausedRecord;
  /** Result lines without an effect: late, repeated or foreign. In this process. */
  readonly ignoredResults: number;
  /** Provider batches beside the one of record. In this process. */
  readonly duplicateBatches: number;
}

/** The result of `cancel`: ended at once, requested while in a batch, ended before, or unknown. */
export type CancelResult = "cancelled" | "requested" | "ended" | "not_found";
