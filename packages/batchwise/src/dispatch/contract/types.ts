// The public words of the dispatcher: what a caller passes in and gets back. Types only; nothing
// here runs. All times are milliseconds since 1970 (`...At`) or spans of milliseconds (`...Ms`).
// Bodies are in OpenAI's shape.

/** A value that JSON text can hold. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };

/** A JSON object: request bodies, response bodies, metadata. */
export type JsonObject = { readonly [key: string]: Json | undefined };

/** The routes of which the dispatcher knows how to count tokens. */
export type KnownEndpoint =
  | "/v1/chat/completions"
  | "/v1/embeddings"
  | "/v1/responses"
  | "/v1/completions"
  | "/v1/moderations"
  | "/v1/images/generations"
  | "/v1/messages";

/**
 * The route that a request is for: one that an account lists among its `capabilities.endpoints`.
 */
export type Endpoint = KnownEndpoint | (string & Readonly<Record<never, never>>);

/** One request, as a caller enqueues it. `requestDefaults` are merged under `body`. */
export interface DispatchRequest {
  readonly body: JsonObject;
  /**
   * The caller's name for it and its idempotency key: 1 to 256 characters. Made by the dispatcher
   * when absent.
   */
  readonly id?: string;
  /**
   * Default: `/v1/chat/completions` for a body with `messages`, `/v1/embeddings` for one with
   * `input`.
   */
  readonly endpoint?: Endpoint;
  /** Higher goes first. A safe integer; 0 unless given. */
  readonly priority?: number;
  /**
   * After this no batch is sent with it, and it ends as `expired`, unpaid; what may have been
   * accepted still counts.
   */
  readonly deadlineAt?: number;
  /**
   * Whose request it is: tenants share batches by tokens. Requests without one are one tenant
   * together.
   */
  readonly tenant?: string;
  /** The work that it is a part of: `outcomes({ job })` gives that work's outcomes alone. */
  readonly job?: string;
  /**
   * Given back with the outcome, never sent to the provider. At most 16 KB (16,384 bytes) as JSON.
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

/** What `enqueue` answers, once the request is durable. */
export interface Enqueued {
  readonly id: string;
  /** True when the same id with the same body was there already: nothing was added. */
  readonly existing: boolean;
}

/** What `enqueueMany` answers: one entry a request, in order. */
export interface EnqueuedMany extends Array<Enqueued> {
  /**
   * How many of them were there before: they are not sent again, and give the outcome of the first
   * time.
   */
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

/** Tokens as the provider counted them. */
export interface Usage {
  /** All of the input, cached or not. */
  readonly inputTokens: number;
  /**
   * Of the input: read from a prompt cache, at a lower price. What was written into one is none of
   * these.
   */
  readonly cachedTokens: number;
  /** All of the output, thoughts included. */
  readonly outputTokens: number;
  /** Of the output: thoughts that the answer does not show, where the provider counts them. */
  readonly reasoningTokens: number;
  readonly totalTokens: number;
}

/** How a request ended. `failed` may carry a response too: the provider's own error answer. */
export interface Outcome {
  readonly id: string;
  readonly status: OutcomeStatus;
  readonly response: OutcomeResponse | null;
  readonly error: OutcomeError | null;
  /**
   * Charged tries, the one that gave this outcome included. Backpressure and splitting charge
   * nothing.
   */
  readonly attempts: number;
  readonly usage: Usage | null;
  /** The key of the batch in which it ended; null where it ended while it waited. */
  readonly batch: string | null;
}

/** An outcome read from the durable log. */
export interface LoggedOutcome extends Outcome {
  /**
   * Pass the last one seen as `outcomes({ after })` to go on from there, also in another process.
   */
  readonly cursor: number;
  readonly recordedAt: number;
  readonly tenant: string;
  /** "" for none. */
  readonly job: string;
  readonly metadata: Readonly<Record<string, string>> | null;
}

/** From which cursor outcomes are read, whose, and until when. */
export interface OutcomesOptions {
  /** The cursor of the last outcome that is done with; 0, the default, for all. */
  readonly after?: number;
  /**
   * End when nothing is left to wait for; reject with QUARANTINED when that is for a person to
   * decide. Default false. A promise, such as of what enqueues: the same from when it has resolved
   * on; reject as it does.
   */
  readonly untilIdle?: boolean | PromiseLike<unknown>;
  /** Only outcomes of this job; `untilIdle` waits for this job's requests alone then. */
  readonly job?: string;
}

/** Where outcomes are delivered: `onOutcome`, or the webhook. */
export type DeliverySink = "callback" | "webhook";

/** Which undelivered outcomes are read. */
export interface DeadLettersOptions {
  /** Default `"webhook"`: what a callback has not taken is never given up. */
  readonly sink?: DeliverySink;
  /** Only outcomes with a higher cursor. Default 0. */
  readonly after?: number;
  /** Default 100. */
  readonly limit?: number;
}

/** Which outcomes are delivered again. */
export interface RedeliverOptions {
  /** Default `"webhook"`. */
  readonly sink?: DeliverySink;
  /** Only outcomes with a higher cursor. Default 0: all. */
  readonly after?: number;
}

/** An outcome that could not be delivered, and how its last try ended. */
export interface DeadLetter {
  readonly sink: DeliverySink;
  readonly outcome: LoggedOutcome;
  readonly tries: number;
  readonly lastTryAt: number | null;
  readonly statusCode: number | null;
  readonly error: string | null;
}

/** Which ended requests are let go of. */
export interface PruneOptions {
  /**
   * Only outcomes recorded at least so many milliseconds ago. 0 for all; then one may go before you
   * have read it.
   */
  readonly olderThanMs: number;
  /** Only outcomes with one of these. Default: all. */
  readonly statuses?: readonly OutcomeStatus[];
  /**
   * Forgets ids, too, of requests that were pruned so many milliseconds ago: such an id may run
   * again. Default: the dispatcher's `tombstoneRetentionMs`.
   */
  readonly tombstoneRetentionMs?: number;
}

/** What `prune` has done. */
export interface PruneResult {
  /** Requests of which only id and digest are left. */
  readonly requests: number;
  /** Ended batches taken away. */
  readonly batches: number;
  /**
   * Outcomes that are old enough and stay, because `onOutcome` or the webhook has not taken them
   * yet.
   */
  readonly kept: number;
}

/**
 * When a batch closes: any one reached is enough. Each is also a cap that no batch exceeds, except
 * `maxAgeMs`.
 */
export interface Thresholds {
  readonly maxRequests: number;
  /** Of the encoded file, envelopes and newlines included. */
  readonly maxBytes: number;
  /** Estimated prompt tokens. */
  readonly maxTokens: number;
  /** Age of the oldest request that waits. */
  readonly maxAgeMs: number;
}

/** Where a batch is in its life. */
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

/** A batch, as operators see it. */
export interface BatchRecord {
  readonly key: string;
  readonly account: string;
  readonly endpoint: Endpoint;
  readonly model: string;
  readonly state: BatchState;
  readonly requests: number;
  readonly bytes: number;
  readonly tokens: number;
  /** Members that have no decision yet; 0 once the batch is done. */
  readonly remaining: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly submitAttempt: number;
  readonly providerBatchId: string | null;
  readonly providerState: string | null;
  /** Why it waits, failed or was put aside. */
  readonly lastError: OutcomeError | null;
  /** Provider batches that once carried this batch's tag or place, and what was done about them. */
  readonly orphans: readonly Orphan[];
}

/** A provider batch that is not, or no longer, the one of record. */
export interface Orphan {
  readonly providerBatchId: string;
  readonly seenAt: number;
  /**
   * `ended`: an earlier attempt that failed as a whole. `foreign`: adopted by mistake, given back.
   * `adopted`: of record, by an operator, while the batch was quarantined.
   */
  readonly action: "cancelled" | "ended" | "foreign" | "ignored" | "adopted";
}

/** Which batches `batches()` gives. */
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
   * True where the count has ended at that number: so many wait, or more. Bytes and tokens are then
   * of so many.
   */
  readonly orMore: boolean;
  readonly bytes: number;
  readonly tokens: number;
  readonly oldestAt: number | null;
}

/** What one limit of an account has in flight. */
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
   * As given to `pauseAccount` or `pauseLane`, or the account and its provider's words; null for
   * none.
   */
  readonly reason: string | null;
}

/**
 * What operators have paused, for all processes of the store, and lanes that pause because their
 * requests are refused.
 */
export interface PausedRecord {
  readonly accounts: readonly (PauseRecord & { readonly name: string })[];
  readonly lanes: readonly (PauseRecord & LaneRef)[];
}

/** What waits, what is in flight, and how old it is. */
export interface DispatcherStats {
  readonly lanes: readonly LaneStats[];
  readonly ledgers: readonly LedgerStats[];
  readonly batches: Readonly<Record<BatchState, number>>;
  /** Requests that are members of a batch which has not ended. */
  readonly inBatches: number;
  /** Where all that is left waits to be tried again: when the first of it is. Else null. */
  readonly nextTryAt: number | null;
  /**
   * Where all open batches, 100 at most, are leased by other processes, also by one that was
   * killed: when the first lease ends, unless a process that lives renews it. Else null.
   */
  readonly heldUntil: number | null;
  /** Outcomes recorded since the store was made. A retried request counts again. */
  readonly outcomes: Readonly<Record<OutcomeStatus, number>>;
  /**
   * Deliveries not made yet, whatever they wait for; what has been given up is in `deadLetters()`
   * instead.
   */
  readonly deliveriesWaiting: number;
  /** What operators have paused, for all processes. */
  readonly paused: PausedRecord;
  /** Result lines that changed nothing: late, repeated or foreign. Of this process. */
  readonly ignoredResults: number;
  /** Provider batches found beyond the one of record. Of this process. */
  readonly duplicateBatches: number;
}

/**
 * What `cancel` found: ended at once, asked for while in a batch, ended before, or never heard of.
 */
export type CancelResult = "cancelled" | "requested" | "ended" | "not_found";
