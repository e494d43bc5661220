// Options of runBatch: the options of a dispatcher, and the job. Checked once, before anything
// happens.

import {
  aFunction,
  check,
  expected,
  objectWith,
  oneOf,
  type Rule,
  refuseUnknown,
} from "../../core/contract/validate.ts";
import type { OutputCheck, OutputSchema } from "../contract/checks.ts";
import type { DispatcherOptions, MaxPrice } from "../contract/dispatcher-options.ts";
import type { JobProgress, JobRequest, OnChange } from "../contract/jobs.ts";
import { type OptionTable, readOptions } from "../format/option-table.ts";
import { aName, aSignal } from "../options/call-options.ts";
import { DISPATCHER_HINTS } from "../options/foreign-names.ts";
import { DISPATCHER_OPTIONS, type ResolvedOptions, resolveOptions } from "../options/resolve-options.ts";
import { resolveJobPrice } from "../prices/max-price.ts";
import { outputCheck } from "./output-check.ts";

/** In characters. An id has at most 256, which leaves room for `:` and the largest index. */
const LONGEST_JOB = 239;

/** Options of `runBatch`. */
export interface RunBatchOptions<Request extends JobRequest = JobRequest, Output = undefined>
  extends Omit<DispatcherOptions, "maxPrice"> {
  /**
   * The job's name: 1 to 239 characters. `runBatch` with the same name resumes the job, in this
   * process, in another one, or in several at once.
   */
  readonly job: string;
  /**
   * An array, an iterable or an async iterable. Each run must give the same requests in the same
   * order: one without an id gets `${job}:${index}`. Requests with ids of their own may come in any
   * order; these ids are unique in the whole store. Read one at a time, no faster than the store
   * takes them.
   */
  readonly requests: Iterable<Request> | AsyncIterable<Request>;
  /**
   * Called at the start, at the end, and at most once a second in between, or once in 30 s if
   * nothing changes. `onError` gets its errors.
   */
  readonly onProgress?: (progress: JobProgress) => void;
  /**
   * A schema that each answer must satisfy, by zod, valibot, arktype or another library of Standard
   * Schema. The answer's text, or its one tool call, is parsed as JSON and checked when the batch
   * is read; successful outcomes have it as `value`, parsed again. An answer that does not pass is
   * a charged try, and a request that has no tries left ends as `failed` with the code
   * `invalid_output`, the reason and the answer. An answer that was cut by its length, or a
   * refusal, is not retried. Only a run of this job with a `schema` or `check` reads its batches.
   * Requests to endpoints whose answers have no text are refused. If the schema has Standard JSON
   * Schema and the request's accounts accept one, it is sent along, unless the body has a format or
   * tools of its own.
   */
  readonly schema?: OutputSchema<Output>;
  /**
   * In place of a schema: null where an answer is right, or a sentence that says why not. A check
   * that throws puts the batch off, and is reported to `onError`.
   */
  readonly check?: OutputCheck;
  /**
   * Policy for a job that an earlier run had with other `requestDefaults`, or with another schema
   * that is sent along. "refuse", the default: the iteration rejects with DEFAULTS_CHANGED before
   * anything is sent. "keep": stored requests keep their bodies and outcomes, and new ones get the
   * new defaults. The store remembers the defaults of the 1,000 jobs that ran last.
   */
  readonly onChange?: OnChange;
  /**
   * The most that the job may cost, in US dollars by `prices`, earlier runs included. The highest
   * cost of a request is reserved when its batch is sealed (its prompt, and output up to its limit;
   * without one, as much output as prompt, at least 1,000 tokens), and corrected when its answer
   * comes. Requests that would exceed the limit wait, and `onError` gets PRICE_LIMIT once; when
   * nothing else can run, the iteration rejects with a PriceLimitError. The same call with a higher
   * limit resumes. The store keeps the limit: later runs give one too, `Infinity` for none.
   * Requests for a model without a price are refused. An object has the limits of the job and of
   * tenants, as for `createDispatcher`. Default: none.
   */
  readonly maxPrice?: number | (MaxPrice & { readonly job?: number });
  /**
   * Aborting it stops the run. The iteration rejects with its reason once everything has stopped.
   */
  readonly signal?: AbortSignal;
}

export interface RunBatchPlan<Request extends JobRequest> {
  /** null for none. */
  readonly schema: OutputSchema | null;
  readonly job: string;
  readonly requests: RunBatchOptions<Request>["requests"];
  readonly onProgress: ((progress: JobProgress) => void) | null;
  readonly onChange: OnChange;
  readonly signal: AbortSignal | null;
  readonly dispatcher: ResolvedOptions;
}

const PLAIN = {
  onProgress: [aFunction],
  onChange: [oneOf("refuse", "keep"), "refuse"],
  signal: [aSignal],
} satisfies OptionTable<RunBatchOptions>;
const NAMES = ["job", "requests", "schema", "maxPrice", ...Object.keys(PLAIN)];
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

/** Throws TypeError or RangeError with `code: "INVALID_OPTION"`. */
export function runBatchOptions<Request extends JobRequest, Output>(
  given: RunBatchOptions<Request, Output>,
): RunBatchPlan<Request> {
  check("options", objectWith(), given);
  refuseUnknown(given, [...new Set([...NAMES, ...DISPATCHER_OPTIONS])], "", HINTS);
  const { job, requests, schema, check: run, reask, maxPrice, ...others } = given;
  const { onProgress: _progress, onChange: _change, signal: _signal, ...dispatcher } = others;
  check("job", aJob, job);
  if (typeof requests === "function") {
    throw expected("requests", { ...requestsRule, expected: `${requestsRule.expected} (call the function)` }, requests);
  }
  check("requests", requestsRule, requests);
  const { onProgress = null, signal = null, ...plain } = readOptions(given, PLAIN);
  return {
    ...plain,
    job,
    requests,
    onProgress,
    signal,
    schema: schema ?? null,
    dispatcher: Object.freeze({
      ...resolveOptions(dispatcher),
      check: outputCheck(job, schema, run, reask),
      maxPrice: resolveJobPrice(job, maxPrice),
    }),
  };
}
