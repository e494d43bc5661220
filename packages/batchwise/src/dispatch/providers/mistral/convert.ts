// Converts the client's objects to our types: jobs, pages and result lines. The client returns
// camel case; an answer that it could not validate is raw, in snake case. Reads both and trusts no
// type. Pure.

import type { ProviderBatch, ProviderState, ResultLine } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { Endpoint, JsonObject, OutcomeResponse } from "../../contract/types.ts";
import { statusError } from "../../format/error-words.ts";
import { tagIn } from "../shapes/batch-names.ts";
import { countOrNull, figuresOf, timeOf } from "../shapes/counts.ts";
import { noListError } from "../shapes/lines/list-rows.ts";
import { answeredOrNot } from "../shapes/openai/no-answer.ts";
import { responseOf, resultError } from "../shapes/openai/openai-result.ts";
import { objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { toUsage } from "../shapes/usage.ts";
import { classifyJobErrors } from "./classify.ts";
import { toAnswer } from "./completion.ts";

const HOUR = 3_600_000;

/** States by BatchJobStatus of @mistralai/mistralai 2.7.0. */
const STATES: ReadonlyMap<string, ProviderState> = new Map([
  ["QUEUED", "validating"],
  ["RUNNING", "running"],
  ["SUCCESS", "done"],
  ["FAILED", "failed"],
  ["TIMEOUT_EXCEEDED", "expired"],
  ["CANCELLATION_REQUESTED", "cancelling"],
  ["CANCELLED", "cancelled"],
]);

type Fields = { readonly [key: string]: unknown };

/**
 * Converts a job. No answer has its expiry, so it is `hours` after creation. An unknown state is
 * not an end.
 */
export function toProviderBatch(wire: unknown, hours: number): ProviderBatch {
  const job = objectOf(wire);
  const id = text(job.id);
  if (id === null) throw new Error("The provider answered with a job that has no id.");
  const rawState = text(job.status) ?? "";
  const state = STATES.get(rawState.toUpperCase()) ?? "running";
  const total = countOrNull(field(job, "totalRequests", "total_requests"));
  const done = countOrNull(field(job, "completedRequests", "completed_requests"));
  const succeeded = countOrNull(field(job, "succeededRequests", "succeeded_requests"));
  const failed = countOrNull(field(job, "failedRequests", "failed_requests"));
  const ran = succeeded === null && failed === null ? null : (succeeded ?? 0) + (failed ?? 0);
  const figures = figuresOf(total, succeeded ?? 0, failed ?? 0);
  const createdAt = timeOf(field(job, "createdAt", "created_at"));
  const inputs = field(job, "inputFiles", "input_files");
  return {
    id,
    state,
    rawState,
    createdAt: createdAt ?? 0,
    expiresAt: createdAt === null ? null : createdAt + hours * HOUR,
    tag: tagIn(job.metadata),
    inputFileId: Array.isArray(inputs) && inputs.length === 1 ? text(inputs[0]) : null,
    ...figures,
    settled: figures.settled === null ? null : (done ?? ran),
    ran,
    resultRefs: refsOf(job, id, ran),
    failure: state === "failed" ? classifyJobErrors(job.errors) : null,
  };
}

/** The address prefix for results of inline requests, which are in the job itself. */
const IN_THE_JOB = "job:";

function refsOf(job: Fields, id: string, ran: number | null): string[] {
  const files = [text(field(job, "outputFile", "output_file")), text(field(job, "errorFile", "error_file"))];
  const refs = files.filter((file) => file !== null);
  const inputs = field(job, "inputFiles", "input_files");
  const isInline = Array.isArray(inputs) && inputs.length === 0;
  return refs.length === 0 && isInline && ran !== null && ran > 0 ? [`${IN_THE_JOB}${id}`] : refs;
}

/** The job in a result address; null if it names a file. */
export function jobOf(ref: string): string | null {
  return ref.startsWith(IN_THE_JOB) ? ref.slice(IN_THE_JOB.length) : null;
}

/**
 * The rows of a page. Throws for an answer that is no list: an unlisted job counts as never
 * created.
 */
export function rowsOf(page: unknown): readonly unknown[] {
  const { data, total } = objectOf(page);
  if (Array.isArray(data)) return data;
  // The client's type lets an empty page have no rows.
  if (data === undefined && typeof total === "number") return [];
  throw noListError("an array `data`", page);
}

/**
 * The number of the next page as a cursor; null at the end. A page may have fewer rows than
 * requested: only an empty page, or a first page with all rows, is the end.
 */
export function nextOf(answer: unknown, page: number): string | null {
  const rows = rowsOf(answer).length;
  const { total } = objectOf(answer);
  const isAll = page === 0 && typeof total === "number" && rows >= total;
  return rows === 0 || isAll ? null : String(page + 1);
}

export function toResultLine(line: JsonObject, endpoint: Endpoint): ResultLine {
  const customId = text(line.custom_id);
  if (customId === null) throw new DispatchError("RESULTS_UNREADABLE", "A result line has no custom_id.");
  // Errors have occurred as JSON texts and as plain words.
  const wire = responseOf(line.response);
  const response = wire !== null && isSuccess(wire) ? { ...wire, body: toAnswer(endpoint, wire.body) } : wire;
  const own = resultError(line.error);
  const read = {
    customId,
    response,
    error: own ?? (response === null || isSuccess(response) ? null : statusError(response.statusCode, response.body)),
    usage: response === null || !isSuccess(response) ? null : toUsage(response.body.usage),
  };
  return answeredOrNot(read, endpoint);
}

function isSuccess({ statusCode }: OutcomeResponse): boolean {
  return statusCode < 300;
}

function field(job: Fields, camel: string, snake: string): unknown {
  return job[camel] ?? job[snake];
}
