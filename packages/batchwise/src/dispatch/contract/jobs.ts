// Types of `runBatch`: its requests, its outcomes and its progress.

import type { PriceFigures } from "./errors.ts";
import type { TokenCounts } from "./store/rows.ts";
import type { BatchLine, DispatchRequest, LoggedOutcome, OutcomeStatus } from "./types.ts";

/** A request of `runBatch`: one for `enqueue`, or a line of a batch file. */
export type JobRequest = DispatchRequest | BatchLine;

/** The type of the ids of these requests. */
export type JobRequestId<Request> = Request extends { readonly id: infer Id extends string }
  ? Id
  : Request extends { readonly custom_id: infer Id extends string }
    ? Id
    : string;

/** The type of their metadata. */
export type JobRequestMetadata<Request> = Request extends { readonly metadata: infer Metadata extends object }
  ? Metadata
  : LoggedOutcome["metadata"];

/** An outcome of a job, typed by the caller's requests. */
export interface JobOutcome<Request = JobRequest, Output = undefined> extends Omit<LoggedOutcome, "id" | "metadata"> {
  readonly id: JobRequestId<Request>;
  /** The metadata of the first run that had this request. */
  readonly metadata: JobRequestMetadata<Request>;
  /**
   * The request's index in `requests`, from 0. null for a request from an iterable with its own id,
   * and for one of an earlier run that the array lacks.
   */
  readonly index: number | null;
  /**
   * `requests[index]` if `requests` is an array. null for iterables, which are not kept in memory.
   */
  readonly request: Request | null;
  /**
   * With `schema`, if the request succeeded: the answer's value. undefined for other outcomes, and
   * for an answer that was stored before the job had this schema and does not pass it.
   */
  readonly value?: Output | undefined;
}

/** Policy for a job whose `requestDefaults` have changed. */
export type OnChange = "refuse" | "keep";

/** Why requests of a job wait. */
export interface JobPause {
  /** The account's name. */
  readonly account: string;
  /** Time of the next try, in ms since 1970. null: an operator must resume it. */
  readonly until: number | null;
  /** A code and the provider's message, such as "invalid_api_key: Incorrect API key provided". */
  readonly reason: string;
}

/** Progress of a job: counts of requests, tokens, and times. */
export interface JobProgress extends TokenCounts {
  readonly job: string;
  /** Requests of `requests` in the store by now. A repeated id counts once. */
  readonly enqueued: number;
  /** Those that were there before: from an earlier run or another process. */
  readonly existing: number;
  /** True once all of `requests` are in the store. */
  readonly allEnqueued: boolean;
  /** Known requests of the job, including earlier runs and other processes. */
  readonly total: number;
  /** In no batch now. */
  readonly waiting: number;
  /**
   * In batches now. If other work shares the store, its requests count too while this job has open
   * ones.
   */
  readonly inBatches: number;
  /** Outcomes that this iteration has yielded, in total and by status. */
  readonly done: number;
  readonly outcomes: Readonly<Record<OutcomeStatus, number>>;
  /** US dollars for these tokens, by the option `prices`; null if a model has no price. */
  readonly price: number | null;
  /** The job's `maxPrice` and what counts against it; null without one. */
  readonly maxPrice: PriceFigures | null;
  /** Since this run began. */
  readonly elapsedMs: number;
  /** Outcomes per second that were recorded and yielded in this run. */
  readonly perSecond: number;
  /**
   * In ms since 1970: if all remaining requests of the store wait for a retry, the first of these.
   * Else null.
   */
  readonly nextTryAt: number | null;
  /**
   * In ms since 1970: if other processes lease all open batches of the store (100 at most), the end
   * of the first lease. A live process renews its leases; after a crash this run takes the batch
   * over then. Else null.
   */
  readonly heldUntil: number | null;
  /**
   * The reason why requests of the job wait for an account: a key, the network, a reached limit, an
   * operator's pause. The one that ends first, if several. null if none is known.
   */
  readonly paused: JobPause | null;
  /**
   * Estimated time until all have ended, at that rate. null if unknown, or if all remaining
   * requests wait for a retry.
   */
  readonly leftMs: number | null;
}
