// Arguments and results of operator methods: requests by filter, counts, pauses, sums. Types only.
// All times are ms since 1970.

import type { TokenCounts } from "./store/rows.ts";
import type { BatchRecord, CancelResult, Endpoint, JsonObject, LaneRef, OutcomeStatus } from "./types.ts";

/** `waiting` in its lane, `in_batch` as a member of an open batch, or how it ended. */
export type RequestStatus = "waiting" | "in_batch" | OutcomeStatus;

/** The time limit of a `runDue`. */
export interface RunDueOptions {
  /** In ms: the time limit of the call. Some seconds less than the platform allows. */
  readonly maxMs: number;
  /** Ends the run at once. */
  readonly signal?: AbortSignal;
}

/** The work that a `runDue` leaves. */
export interface DueReport {
  /**
   * When work is due again, in ms since 1970; now or earlier if the time was not enough. null:
   * nothing is due until a caller enqueues, resumes or requeues.
   */
  readonly nextAt: number | null;
  /** Requests without an outcome. */
  readonly open: number;
}

/** Selects requests that match all given fields. */
export interface RequestFilter {
  /** Only these. Not with `after` or `limit`. */
  readonly ids?: readonly string[];
  readonly statuses?: readonly RequestStatus[];
  /** Key of the batch that they are in, or ended in. */
  readonly batch?: string;
  /** "" for requests without one; also for `job`. */
  readonly tenant?: string;
  readonly job?: string;
  /** Code of the outcome's error. */
  readonly code?: string;
}

/** Which requests to read, how many per page, and which parts. */
export interface RequestsOptions extends RequestFilter {
  /**
   * True: each with its body, metadata and history. A page of large bodies needs a smaller `limit`.
   * Default false.
   */
  readonly bodies?: boolean;
  /** The `next` of the previous page. */
  readonly after?: number;
  /** Default 100. */
  readonly limit?: number;
}

/** A request for operators, without its answer. */
export interface RequestRecord {
  readonly id: string;
  readonly status: RequestStatus;
  readonly endpoint: Endpoint;
  readonly model: string;
  /** "" for none; also for `tenant`. */
  readonly job: string;
  readonly tenant: string;
  readonly priority: number;
  /** Charged tries so far. */
  readonly attempts: number;
  /** Key of the batch that it is in, or ended in; null if it waits, or ended while it waited. */
  readonly batch: string | null;
  readonly createdAt: number;
  /** The end of the pause before another try; null if there was none. */
  readonly notBefore: number | null;
  readonly deadlineAt: number | null;
  /** null until it has ended. */
  readonly endedAt: number | null;
  /** Bytes of its line in a batch file. */
  readonly bytes: number;
  /** Estimated prompt tokens. */
  readonly tokens: number;
  /** Code of the outcome's error, at most 256 characters; null if there is none. */
  readonly code: string | null;
  /** A cancel is pending because it is in a batch. */
  readonly cancelRequested: boolean;
  /** Only with `bodies: true`: as stored, with `requestDefaults` merged. */
  readonly body?: JsonObject;
  /** Only with `bodies: true`. null: it has none. */
  readonly metadata?: Readonly<Record<string, string>> | null;
  /**
   * Only with `bodies: true`: its earlier tries, oldest first, and outcomes that a corrected body
   * has replaced.
   */
  readonly history?: readonly RequestTry[];
}

/** One earlier try of a request. */
export interface RequestTry {
  /** Key of the batch; null if the request waited when it ended. */
  readonly batch: string | null;
  /** Why it was tried again, or the code of the outcome that a corrected body has replaced. */
  readonly code: string;
  readonly at: number;
}

/** A request with its body, from `requests({ bodies: true })`. */
export type StoredRequest = Required<RequestRecord>;

/** Options of `retry`. */
export interface RetryRequestsOptions {
  /**
   * The corrected body, as for `enqueue`: an object for one id, or a function that returns it for
   * each request. It is checked like at `enqueue`, with `requestDefaults` merged under it, and may
   * have another model.
   */
  readonly body?: JsonObject | ((request: StoredRequest) => JsonObject | Promise<JsonObject>) | undefined;
}

/** One page of `requests()`. */
export interface RequestPage {
  /** In order of arrival; with `ids`, in the given order. */
  readonly requests: readonly RequestRecord[];
  /**
   * Pass it as `after` for the next page; null on the last page. If very few of very many match, a
   * page may have fewer requests than `limit`, or none, and still a `next`.
   */
  readonly next: number | null;
}

/**
 * Selects requests to cancel, which match all given fields. At least one field; none may be
 * undefined or empty.
 */
export interface CancelFilter {
  readonly statuses?: readonly ("waiting" | "in_batch")[];
  /** Key of the batch that they are in. */
  readonly batch?: string;
  readonly tenant?: string;
  readonly job?: string;
}

/** The result of `cancel` of many. */
export interface CancelCounts {
  /** Ended at once. */
  readonly cancelled: number;
  /** In a batch, so the cancel is pending. A result that comes first counts. */
  readonly requested: number;
  /** Had ended before. */
  readonly ended: number;
  readonly notFound: number;
}

/** Selects ended requests to retry, which match all given fields. Like `CancelFilter`. */
export interface RetryFilter {
  /** Default `["failed", "expired"]`: cancelled requests stay cancelled. */
  readonly statuses?: readonly ("failed" | "cancelled" | "expired")[];
  /** Key of the batch in which they ended. */
  readonly batch?: string;
  readonly tenant?: string;
  readonly job?: string;
  /** Code of their error. */
  readonly code?: string;
}

/** Selects the usage to sum. */
export interface UsageFilter {
  /** "" for requests without one; also for `job`. */
  readonly tenant?: string;
  readonly job?: string;
}

/**
 * Sums over the requests of one tenant, job, endpoint and model since the store was made. A retried
 * request counts at each end. Tokens are the providers' counts, of requests that ended with an
 * answer.
 */
export interface UsageRecord extends TokenCounts {
  /** "" for none; also for `job`. */
  readonly tenant: string;
  readonly job: string;
  readonly endpoint: Endpoint;
  readonly model: string;
  /** Enqueued or retried. Counted only for requests with a job; 0 for others. */
  readonly requests: number;
  readonly ended: Readonly<Record<OutcomeStatus, number>>;
  /** In US dollars, by the option `prices`; null for a model without a price. */
  readonly price: number | null;
}

/** Selects batches to poll, which match all given fields. At least one field. */
export interface PollFilter {
  /** Key of the batch. */
  readonly batch?: string;
  /** The provider's id of it, as in a webhook. */
  readonly providerBatchId?: string;
  /** Name of the account. Without other fields: all of its batches. */
  readonly account?: string;
}

/**
 * Methods for the operator of a dispatcher. They also work in a process that never starts its
 * loops.
 */
export interface OperatorMethods {
  /**
   * Cancels one request; or many, by id or by filter, and returns counts. Waiting requests end at
   * once; those in a batch end with it, unless a result comes first. A matching request that is
   * enqueued during the call may be cancelled too. Each page is durable separately: repeat a call
   * that rejects. TypeError for an empty filter.
   */
  cancel(id: string): Promise<CancelResult>;
  cancel(which: readonly string[] | CancelFilter): Promise<CancelCounts>;
  /**
   * Retries requests that ended without success: by id, or by filter. Returns their number. With
   * `body` they keep their id and get a corrected body: from then on, an `enqueue` of the first or
   * the corrected body is the same request, and the old outcome stays in its history. Rejects for a
   * body that `enqueue` would refuse; then none of up to 1,000 requests corrected together runs.
   */
  retry(which: string | readonly string[] | RetryFilter, options?: RetryRequestsOptions): Promise<number>;
  /**
   * Requests that match all given fields, in order of arrival, a page at a time; all requests of
   * the store without a filter. With `bodies: true` also their bodies.
   */
  requests(options?: RequestsOptions): Promise<RequestPage>;
  /**
   * Ties a quarantined or unknown batch to the provider batch of this id, and continues with that.
   * First retrieves it from the provider. If its results belong to another batch, none of them
   * counts and the tie is undone. NOT_FOUND for an unknown key or id, ADOPTION_REFUSED if it cannot
   * be the right one, or the client's error.
   */
  adopt(key: string, providerBatchId: string): Promise<BatchRecord>;
  /**
   * Sends nothing new to the account, in all processes of the store, until `resumeAccount`. Its
   * running batches are polled and collected. A create in progress is finished. False if it was
   * paused before; then the old time and reason stay. RangeError for an account that is unknown
   * here.
   */
  pauseAccount(name: string, reason?: string): Promise<boolean>;
  /** False if it was not paused. */
  resumeAccount(name: string): Promise<boolean>;
  /**
   * The same for one endpoint and model, at all accounts. NO_ACCOUNT if no account here serves
   * them.
   */
  pauseLane(lane: LaneRef, reason?: string): Promise<boolean>;
  resumeLane(lane: LaneRef): Promise<boolean>;
  /**
   * Polls these batches now instead of at their next time, for example after a provider's webhook.
   * Resolves once they are due, with their number; any process that runs its loops polls them. 0
   * for batches that are unknown, not at the provider, or in work. Check the webhook's signature
   * first: this does not.
   */
  pollNow(which: PollFilter): Promise<number>;
  /**
   * Requests by outcome, and their tokens, by tenant, job, endpoint and model, since the store was
   * made.
   */
  usage(filter?: UsageFilter): Promise<UsageRecord[]>;
}
