// The options of runBatch: those of a dispatcher, and the job's own. Checked before anything starts. Pure.

import {
  aFunction,
  check,
  checkIsObject,
  expected,
  invalidOption,
  type Rule,
  refuseUnknown,
} from "../../core/contract/validate.ts";
import type { BatchProgress } from "../contract/job.ts";
import type { BatchLine, DispatchRequest } from "../contract/types.ts";
import { checkResultOptions } from "./call-options.ts";
import type { DispatcherOptions } from "./dispatcher-options.ts";
import { DISPATCHER_OPTIONS } from "./resolve-options.ts";

export interface RunBatchOptions<Request extends DispatchRequest | BatchLine = DispatchRequest | BatchLine>
  extends DispatcherOptions {
  /** The job's name, 1 to 200 characters: the same name resumes the job, in whichever process. */
  readonly job: string;
  /**
   * What to run. It is read as fast as the store takes it, at most a thousand requests or 16 MB ahead. Each run must give
   * all of it again, in the same order: a request without an `id` gets `<job>:<index>`.
   */
  readonly requests: Iterable<Request> | AsyncIterable<Request>;
  /** Called about once a second, more rarely while nothing changes, and at the end. What it throws ends the run. */
  readonly onProgress?: (progress: BatchProgress) => void;
  /** Stops the run: iteration rejects with the signal's reason once all is at rest. Nothing is cancelled. */
  readonly signal?: AbortSignal;
}

export interface JobOptions {
  readonly job: string;
  readonly requests: Iterable<DispatchRequest | BatchLine> | AsyncIterable<DispatchRequest | BatchLine>;
  readonly onProgress: ((progress: BatchProgress) => void) | null;
  readonly signal: AbortSignal | null;
}

const OWN: readonly string[] = ["job", "requests", "onProgress", "signal"];
const LONGEST_NAME = 200;
const aJobName: Rule = {
  expected: `a name of 1 to ${LONGEST_NAME} characters`,
  type: "string",
  test: (name: string) => name !== "" && name.length <= LONGEST_NAME,
};
const someRequests: Rule = {
  expected: "an array, an iterable or an async iterable of requests",
  type: "object",
  test: (value: object) => Symbol.iterator in value || Symbol.asyncIterator in value,
};

/** Divides the options into the job's and the dispatcher's, which are not checked here. */
export function runBatchOptions(options: RunBatchOptions): readonly [JobOptions, DispatcherOptions] {
  checkIsObject("options", options);
  if (options === undefined) throw invalidOption(TypeError, "Expected options for runBatch, got none");
  refuseUnknown(options, [...DISPATCHER_OPTIONS, ...OWN]);
  const { job, requests, onProgress, signal, ...others } = options;
  check("job", aJobName, job);
  checkRequests(requests);
  if (onProgress !== undefined) check("onProgress", aFunction, onProgress);
  if (signal !== undefined) checkResultOptions({ signal });
  return [{ job, requests, onProgress: onProgress ?? null, signal: signal ?? null }, others];
}

function checkRequests(requests: unknown): void {
  if (typeof requests === "function") {
    throw invalidOption(TypeError, `Expected \`requests\` to be ${someRequests.expected}, got a function: call it`);
  }
  if (requests instanceof Promise) {
    throw invalidOption(TypeError, `Expected \`requests\` to be ${someRequests.expected}, got a Promise: await it`);
  }
  if (typeof requests === "string") throw expected("requests", someRequests, requests);
  check("requests", someRequests, requests);
}
