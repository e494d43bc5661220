// What `runBatch` gives back: outcomes in the caller's types, and progress. Types only.

import type { TokenCounts } from "./rows.ts";
import type { BatchLine, DispatchRequest, LoggedOutcome, OutcomeStatus } from "./types.ts";

/** The type of a field of the caller's requests; `None` for requests that lack it. */
type FieldOf<Request, Field extends string, None> = Request extends { readonly [Name in Field]?: infer Value }
  ? Field extends keyof Request
    ? Exclude<Value, undefined> | (Request extends { readonly [Name in Field]: unknown } ? NoneIf<Value, None> : None)
    : None
  : None;
type NoneIf<Value, None> = undefined extends Value ? None : never;

/** An outcome of a job. `tenant` and `metadata` are of the types that the job's requests give them. */
export interface BatchOutcome<Request extends DispatchRequest | BatchLine = DispatchRequest | BatchLine>
  extends Omit<LoggedOutcome, "tenant" | "metadata"> {
  /**
   * The request's place in `requests`, from 0, at the run that enqueued it; -1 for a request of the job that was enqueued
   * without `runBatch`.
   */
  readonly index: number;
  /** "" for none. */
  readonly tenant: FieldOf<Request, "tenant", "">;
  /** null for none, or an empty one. */
  readonly metadata: FieldOf<Request, "metadata", null>;
}

/** How far a job is. */
export interface BatchProgress {
  /** Of `requests`: read by this run, and durable. */
  readonly enqueued: number;
  /** Of these: enqueued before, by an earlier run or by another process. */
  readonly existing: number;
  /** True once all of `requests` is durable. */
  readonly allEnqueued: boolean;
  /** Requests of the job that have ended, by status, earlier runs' included. */
  readonly ended: Readonly<Record<OutcomeStatus, number>>;
  /**
   * Requests of the job that are in no batch, and those in one. Where other requests share the store, the job's open
   * requests are exact together; how they divide is estimated from the store's.
   */
  readonly waiting: number;
  readonly inBatches: number;
  /** Requests that ended per second, since this run began. */
  readonly rate: number;
  /** As providers counted them, earlier runs' included. */
  readonly tokens: TokenCounts;
  /** What these tokens cost in US dollars, by the option `prices`; null where a model of the job has no price. */
  readonly price: number | null;
  /** At this rate; null until all is enqueued and something has ended in this run. 0 at the end. */
  readonly timeLeftMs: number | null;
}
