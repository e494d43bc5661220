// The options of runBatch: those of a dispatcher, and what the job is. Checked once, before
// anything happens.

import {
  aFunction,
  check,
  expected,
  objectWith,
  oneOf,
  type Rule,
  refuseUnknown,
} from "../../core/contract/validate.ts";
import type { JobProgress, JobRequest, OnChange } from "../contract/jobs.ts";
import { aName, aSignal } from "./call-options.ts";
import type { DispatcherOptions } from "./dispatcher-options.ts";
import { DISPATCHER_HINTS } from "./foreign-names.ts";
import { DISPATCHER_OPTIONS, type ResolvedOptions, resolveOptions } from "./resolve-options.ts";

/** An id has at most 256 characters; this leaves room for `:` and the largest index. */
const LONGEST_JOB = 239;

/** Options of `runBatch`. */
export interface RunBatchOptions<Request extends JobRequest = JobRequest> extends DispatcherOptions {
  /**
   * The name of the work: 1 to 239 characters. Calling `runBatch` again with the same name goes on
   * with it, in this process, in another one, or in several at once.
   */
  readonly job: string;
  /**
   * An array, an iterable or an async iterable. Each run must give the same requests in the same
   * order: one without an id gets `${job}:${index}`. Requests with ids of their own may come in any
   * order; these are unique in the whole store. Read one at a time, and no faster than the store
   * takes them.
   */
  readonly requests: Iterable<Request> | AsyncIterable<Request>;
  /**
   * Called at the start, at the end, and at most once a second between, down to once in 30 s while
   * nothing changes. What it throws is told to `onError`.
   */
  readonly onProgress?: (progress: JobProgress) => void;
  /**
   * What becomes of a job that an earlier run had with other `requestDefaults`. "refuse", the
   * default: the iteration rejects with DEFAULTS_CHANGED before anything is sent. "keep": requests
   * that are stored keep their bodies and outcomes, and those that are not get the new defaults.
   * Known for the 1,000 jobs of the store that were run last.
   */
  readonly onChange?: OnChange;
  /**
   * Stops the run when it is aborted: the iteration rejects with its reason once all has come to a
   * halt.
   */
  readonly signal?: AbortSignal;
}

export interface RunBatchPlan<Request extends JobRequest> {
  readonly job: string;
  readonly requests: RunBatchOptions<Request>["requests"];
  readonly onProgress: ((progress: JobProgress) => void) | null;
  readonly onChange: OnChange;
  readonly signal: AbortSignal | null;
  readonly dispatcher: ResolvedOptions;
}

const NAMES = ["job", "requests", "onProgress", "onChange", "signal"];
const HINTS = { ...DISPATCHER_HINTS, id: "the name of the work is `job`", input: "the requests are `requests`" };

const aJob: Rule = {
  expected: `a name of 1 to ${LONGEST_JOB} characters, Unicode without NUL`,
  type: "string",
  test: (name: string) =>
    aName.test(name as never) && name.length <= LONGEST_JOB && !name.includes("\0") && !/\p{Surrogate}/u.test(name),
};

const requestsRule: Rule = {
  expected: "an array, an iterable or an async iterable of requests",
  type: "object",
  test: (value: object) => Symbol.asyncIterator in value || Symbol.iterator in value,
};

/** TypeError or RangeError with `code: "INVALID_OPTION"`. */
export function runBatchOptions<Request extends JobRequest>(given: RunBatchOptions<Request>): RunBatchPlan<Request> {
  check("options", objectWith(), given);
  refuseUnknown(given, [...NAMES, ...DISPATCHER_OPTIONS], "", HINTS);
  const { job, requests, onProgress, onChange = "refuse", signal, ...dispatcher } = given;
  check("job", aJob, job);
  if (typeof requests === "function") {
    throw expected("requests", { ...requestsRule, expected: `${requestsRule.expected} (call the function)` }, requests);
  }
  check("requests", requestsRule, requests);
  if (onProgress !== undefined) check("onProgress", aFunction, onProgress);
  check("onChange", oneOf("refuse", "keep"), onChange);
  if (signal !== undefined) check("signal", aSignal, signal);
  return {
    job,
    requests,
    onProgress: onProgress ?? null,
    onChange,
    signal: signal ?? null,
    dispatcher: resolveOptions(dispatcher),
  };
}
