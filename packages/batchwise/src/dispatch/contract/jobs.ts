// The words of `runBatch`: what a job is given, what it gives back, how it tells of its progress.
// Types only.

import type { TokenCounts } from "./rows.ts";
import type { BatchLine, DispatchRequest, LoggedOutcome, OutcomeStatus } from "./types.ts";

/** What `runBatch` takes as a request: one for `enqueue`, or a line of a batch file. */
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

/** An outcome of a job, in the types of the caller's requests. */
export interface JobOutcome<Request = JobRequest> extends Omit<LoggedOutcome, "id" | "metadata"> {
  readonly id: JobRequestId<Request>;
  /** As it was enqueued: at the first run that had this request. */
  readonly metadata: JobRequestMetadata<Request>;
  /**
   * The request's place in `requests`, from 0. null for a request with an id of its own that came
   * from an iterable, and for one of an earlier run that an array does not have.
   */
  readonly index: number | null;
  /**
   * `requests[index]` where `requests` is an array; null for iterables, which nobody keeps in
   * memory.
   */
  readonly request: Request | null;
}

/** What becomes of a job whose `requestDefaults` have changed. */
export type OnChange = "refuse" | "keep";

/** Why requests of a job wait. */
export interface JobPause {
  /** The account's name. */
  readonly account: string;
  /** Milliseconds since 1970: when it is tried again. null: not before a person resumes it. */
  readonly until: number | null;
  /** A code and the provider's words, such as "invalid_api_key: Incorrect API key provided". */
  readonly reason: string;
}

/** How far a job is. Counts of requests, but for tokens and times. */
export interface JobProgress extends TokenCounts {
  readonly job: string;
  /** Of `requests`, as many as are in the store by now; one whose id comes twice counts once. */
  readonly enqueued: number;
  /** Of these, as many as were there before: enqueued by an earlier run, or by another process. */
  readonly existing: number;
  /** True once all of `requests` are in the store. */
  readonly allEnqueued: boolean;
  /** Of the job, as far as it is known: earlier runs and other processes included. */
  readonly total: number;
  /** In no batch now. */
  readonly waiting: number;
  /**
   * In batches now. Where other work shares the store, its requests count too, as far as this job
   * has open ones.
   */
  readonly inBatches: number;
  /** Outcomes that this iteration has given, and how many of each status. */
  readonly done: number;
  readonly outcomes: Readonly<Record<OutcomeStatus, number>>;
  /** US dollars for these tokens, by the option `prices`; null where a model has no price. */
  readonly price: number | null;
  /** Since this run has begun. */
  readonly elapsedMs: number;
  /** Outcomes a second that were recorded in this run, and given. */
  readonly perSecond: number;
  /**
   * Milliseconds since 1970. Where all that is left in the store waits to be tried again: when the
   * first of it is. Else null.
   */
  readonly nextTryAt: number | null;
  /**
   * Milliseconds since 1970. Where all open batches of the store, 100 at most, are leased by other
   * processes, also by one that was killed: when the first lease ends. A process that lives renews
   * its leases; the batch of one that was killed goes on here. Else null.
   */
  readonly heldUntil: number | null;
  /**
   * What requests of the job wait for where an account does not take them or does not answer: a
   * key, the network, a limit that is used up, a pause by a person. Of several, the one that ends
   * first. null while nothing is known to wait.
   */
  readonly paused: JobPause | null;
  /**
   * Until all have ended, at that rate; null while it cannot be told, and where all that is left
   * waits to be tried again.
   */
  readonly leftMs: number | null;
}
