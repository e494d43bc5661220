// What an operator passes to the dispatcher and gets back: requests by filter, counts, pauses,
// sums. Types only. All times are milliseconds since 1970.

import type { TokenCounts } from "./rows.ts";
import type { BatchRecord, CancelResult, Endpoint, JsonObject, LaneRef, OutcomeStatus } from "./types.ts";

/**
 * `waiting` in its lane, a member of a batch that has not ended with it (`in_batch`), or how it
 * ended.
 */
export type RequestStatus = "waiting" | "in_batch" | OutcomeStatus;

/** How long a `runDue` may take. */
export interface RunDueOptions {
  /** In ms: the time that the call may take. Some seconds less than the platform allows. */
  readonly maxMs: number;
  /** Ends the run at once. */
  readonly signal?: AbortSignal;
}

/** What a `runDue` leaves for later. */
export interface DueReport {
  /**
   * When something is due again, in ms since 1970; now or earlier where the time was not enough.
   * null: nothing is due before somebody enqueues, resumes or requeues.
   */
  readonly nextAt: number | null;
  /** Requests without an outcome. */
  readonly open: number;
}

/** Requests that match all that is given. */
export interface RequestFilter {
  /** These alone. Goes with no `after` and `limit`. */
  readonly ids?: readonly string[];
  readonly statuses?: readonly RequestStatus[];
  /** Key of the batch that they are in, or ended in. */
  readonly batch?: string;
  /** "" for those without one; so with `job`. */
  readonly tenant?: string;
  readonly job?: string;
  /** Of their outcome's error. */
  readonly code?: string;
}

/** Which requests are read, how many a page, and how much of each. */
export interface RequestsOptions extends RequestFilter {
  /**
   * True: each with its body, its metadata and its history. A page of large bodies needs a smaller
   * `limit`. Default false.
   */
  readonly bodies?: boolean;
  /** The `next` of the page before. */
  readonly after?: number;
  /** Default 100. */
  readonly limit?: number;
}

/** A request, as operators see it: without its answer. */
export interface RequestRecord {
  readonly id: string;
  readonly status: RequestStatus;
  readonly endpoint: Endpoint;
  readonly model: string;
  /** "" for none; so with `tenant`. */
  readonly job: string;
  readonly tenant: string;
  readonly priority: number;
  /** Charged tries so far. */
  readonly attempts: number;
  /** Key of the batch that it is in, or ended in; null where it waits, or ended while it waited. */
  readonly batch: string | null;
  readonly createdAt: number;
  /** The end of the pause before another try; null where there was none. */
  readonly notBefore: number | null;
  readonly deadlineAt: number | null;
  /** null until it has ended. */
  readonly endedAt: number | null;
  /** Of its line in a batch file. */
  readonly bytes: number;
  /** Estimated prompt tokens. */
  readonly tokens: number;
  /** Of its outcome's error, at most 256 characters of it; null where it has none. */
  readonly code: string | null;
  /** Asked for, and not done yet because it is in a batch. */
  readonly cancelRequested: boolean;
  /** With `bodies: true` alone: as stored, `requestDefaults` merged. */
  readonly body?: JsonObject;
  /** With `bodies: true` alone. null: it has none. */
  readonly metadata?: Readonly<Record<string, string>> | null;
  /**
   * With `bodies: true` alone: its earlier tries, oldest first, and outcomes that a corrected body
   * has replaced.
   */
  readonly history?: readonly RequestTry[];
}

/** One earlier try of a request. */
export interface RequestTry {
  /** Key of the batch; null where the request waited when it ended. */
  readonly batch: string | null;
  /** Why it was tried again, or of the outcome that a corrected body has replaced. */
  readonly code: string;
  readonly at: number;
}

/** A request with its body, as `requests({ bodies: true })` gives it. */
export type StoredRequest = Required<RequestRecord>;

/** How requests run again. */
export interface RetryRequestsOptions {
  /**
   * The corrected body, as `enqueue` takes it: an object for one id, or a function that gives it
   * for each request. It is checked as at `enqueue`, `requestDefaults` are merged under it, and its
   * model may be another.
   */
  readonly body?: JsonObject | ((request: StoredRequest) => JsonObject | Promise<JsonObject>) | undefined;
}

/** One page of `requests()`. */
export interface RequestPage {
  /** In order of arrival; with `ids`, in the order asked. */
  readonly requests: readonly RequestRecord[];
  /**
   * Pass it as `after` for the next page; null when this was the last. Where very few of very many
   * match, a page may have fewer requests than `limit`, or none, and still a `next`.
   */
  readonly next: number | null;
}

/**
 * Which requests to cancel: all that match all that is given. At least one field; none may be
 * undefined or empty.
 */
export interface CancelFilter {
  readonly statuses?: readonly ("waiting" | "in_batch")[];
  /** Key of the batch that they are in. */
  readonly batch?: string;
  readonly tenant?: string;
  readonly job?: string;
}

/** What `cancel` of many found. */
export interface CancelCounts {
  /** Ended at once. */
  readonly cancelled: number;
  /** In a batch: asked for. A result that comes all the same counts. */
  readonly requested: number;
  /** Had ended before. */
  readonly ended: number;
  readonly notFound: number;
}

/** Which ended requests to run again: all that match all that is given. As `CancelFilter`. */
export interface RetryFilter {
  /** Default `["failed", "expired"]`: what somebody has cancelled stays cancelled. */
  readonly statuses?: readonly ("failed" | "cancelled" | "expired")[];
  /** Key of the batch in which they ended. */
  readonly batch?: string;
  readonly tenant?: string;
  readonly job?: string;
  /** Of their error. */
  readonly code?: string;
}

/** Whose usage is summed. */
export interface UsageFilter {
  /** "" for requests without one; so with `job`. */
  readonly tenant?: string;
  readonly job?: string;
}

/**
 * What the requests of one tenant, job, endpoint and model came to since the store was made. A
 * request that was let run again counts at each end. Tokens are those that providers counted, of
 * requests that ended with an answer.
 */
export interface UsageRecord extends TokenCounts {
  /** "" for none; so with `job`. */
  readonly tenant: string;
  readonly job: string;
  readonly endpoint: Endpoint;
  readonly model: string;
  /** Enqueued or let run again. Counted for requests with a job only: 0 for others. */
  readonly requests: number;
  readonly ended: Readonly<Record<OutcomeStatus, number>>;
  /** US dollars, by the option `prices`; null for a model without a price. */
  readonly price: number | null;
}

/** Which batches to look at: all that match all that is given. At least one field. */
export interface PollFilter {
  /** Key of the batch. */
  readonly batch?: string;
  /** The provider's id of it, as a webhook names it. */
  readonly providerBatchId?: string;
  /** Name of the account: alone, all of its batches. */
  readonly account?: string;
}

/**
 * The methods of a dispatcher for the one who runs it. They work in a process that never starts its
 * loops, too.
 */
export interface OperatorMethods {
  /**
   * Cancels one request; or many, by id or by filter, and gives counts. What waits ends at once;
   * what is in a batch ends with it, unless a result comes first. What matches a filter and is
   * enqueued while the call runs may be cancelled too. Each page is durable by itself: a call that
   * rejects can be repeated. TypeError for a filter that names nothing.
   */
  cancel(id: string): Promise<CancelResult>;
  cancel(which: readonly string[] | CancelFilter): Promise<CancelCounts>;
  /**
   * Lets requests run again that ended without success: by id, or by filter. Gives the number of
   * them. With `body` under the same id with a corrected body: from then on an `enqueue` of the
   * first body or of the corrected one is the same request, and its old outcome stays in its
   * history. A body that `enqueue` would refuse rejects likewise, and none of up to 1,000 requests
   * that are corrected together runs.
   */
  retry(which: string | readonly string[] | RetryFilter, options?: RetryRequestsOptions): Promise<number>;
  /**
   * Requests that match all that is given, in order of arrival, a page at a time; all of the store
   * without a filter. With `bodies: true` their bodies too.
   */
  requests(options?: RequestsOptions): Promise<RequestPage>;
  /**
   * Ties a batch that is quarantined or unknown to the provider batch of this id, and goes on with
   * that. Asks the provider for it first. Where its results turn out to be another's, none of them
   * counts and the batch is put back. NOT_FOUND for a key or an id that is unknown,
   * ADOPTION_REFUSED where it cannot be the one, or what the client threw.
   */
  adopt(key: string, providerBatchId: string): Promise<BatchRecord>;
  /**
   * Sends nothing new to the account, in all processes of the store, until `resumeAccount`; what
   * runs there is polled and collected. A create that is under way is finished. False where it was
   * paused before: since then, and for that reason. RangeError for a name that no account here has.
   */
  pauseAccount(name: string, reason?: string): Promise<boolean>;
  /** False where it was not paused. */
  resumeAccount(name: string): Promise<boolean>;
  /**
   * The same for one endpoint and model, at all accounts. NO_ACCOUNT where no account here serves
   * them.
   */
  pauseLane(lane: LaneRef, reason?: string): Promise<boolean>;
  resumeLane(lane: LaneRef): Promise<boolean>;
  /**
   * Asks the provider of these batches how they are, now instead of at their next poll: a hint,
   * such as a webhook of the provider gives. Resolves once they are due, with their number; any
   * process that runs its loops looks. 0 for batches that are unknown, not at the provider, or
   * being worked on. Check the webhook's signature first: this does not.
   */
  pollNow(which: PollFilter): Promise<number>;
  /**
   * Requests by how they ended, and their tokens, by tenant, job, endpoint and model, since the
   * store was made.
   */
  usage(filter?: UsageFilter): Promise<UsageRecord[]>;
}
