// Converts Bedrock's wire format to our types: jobs and result records. Trusts no type. Pure.

import type { BatchName, ProviderBatch, ProviderState, ResultLine } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { Failure } from "../../contract/failures.ts";
import type { JsonObject } from "../../contract/types.ts";
import { type Answered, answered, failed, noAnswer } from "../shapes/answered.ts";
import { nativeAnswer as claudeMessage, isError } from "../shapes/anthropic/answer.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { MESSAGES } from "./capabilities.ts";
import type { Family } from "./family.ts";

/**
 * States by ModelInvocationJobStatus. A `PartiallyCompleted` job ran out of time: records without a
 * line did not run, as in an expired batch.
 */
const STATES: ReadonlyMap<string, ProviderState> = new Map([
  ["submitted", "validating"],
  ["validating", "validating"],
  ["scheduled", "running"],
  ["inprogress", "running"],
  ["stopping", "cancelling"],
  ["completed", "done"],
  ["partiallycompleted", "expired"],
  ["stopped", "cancelled"],
  ["expired", "expired"],
  ["failed", "failed"],
]);

/** A token: key, hyphen, attempt. Keys contain no hyphen. */
const TOKEN = /^([0-9A-Z]{26})-(\d+)$/;

export function tokenOf({ key, attempt }: Pick<BatchName, "key" | "attempt">): string {
  return `${key}-${attempt}`;
}

/** 1 to 63 letters, digits and hyphens. */
export function jobNameOf(name: Pick<BatchName, "key" | "attempt">): string {
  return `batchwise-${tokenOf(name)}`;
}

export function toProviderBatch(wire: unknown): ProviderBatch {
  const job = objectOf(wire);
  const id = text(job.jobArn);
  if (id === null) throw new Error("Bedrock answered with a job that has no ARN.");
  const rawState = text(job.status) ?? "";
  const state = STATES.get(rawState.toLowerCase()) ?? "running";
  const [total, succeeded, failed] = [job.totalRecordCount, job.successRecordCount, job.errorRecordCount].map(count);
  // Zero while the job is validated.
  const isCounted = total !== undefined && total > 0;
  const settled = (succeeded ?? 0) + (failed ?? 0);
  const [, key, attempt] = TOKEN.exec(text(job.clientRequestToken) ?? "") ?? [];
  return {
    id,
    state,
    rawState,
    createdAt: timeOf(job.submitTime) ?? 0,
    expiresAt: timeOf(job.jobExpirationTime),
    tag: key === undefined ? null : { key, attempt: Number(attempt) },
    inputFileId: text(objectOf(objectOf(job.inputDataConfig).s3InputDataConfig).s3Uri),
    total: isCounted ? total : null,
    settled: isCounted ? settled : null,
    // A failed job gives no results, even if records ran.
    ran: isCounted && state !== "failed" ? settled : null,
    counts: isCounted ? { total, succeeded: succeeded ?? 0, failed: failed ?? 0 } : null,
    resultRefs: state === "failed" ? [] : resultsOf(job, id),
    failure: state === "failed" ? failureOf(text(job.message)) : null,
  };
}

/** The folder that the job writes to: `<output>/<job id>/`. */
function resultsOf(job: { readonly [key: string]: unknown }, arn: string): string[] {
  const output = text(objectOf(objectOf(job.outputDataConfig).s3OutputDataConfig).s3Uri);
  const jobId = arn.slice(arn.lastIndexOf("/") + 1);
  return output === null ? [] : [`${output.endsWith("/") ? output : `${output}/`}${jobId}/`];
}

/** Whole phrases, because messages about a request may also name roles, buckets and permissions. */
const DENIED = [
  /\baccess (?:is |was |has been )?denied|access to .{1,200} (?:is|was|has been) denied/i,
  /not authorized|unauthorized|n(?:o|')t have (?:the )?(?:required |necessary |sufficient )?(?:permissions?|access)/i,
  /insufficient (?:permissions?|privileges)|(?:cannot|can't|could not|unable to|failed to) (?:assume|access)\b/i,
  /\bkms:[A-Z]\w+|\bkms key\b/i,
];

/** A message about access blames the account; any other blames the batch. */
function failureOf(message: string | null): Failure {
  const words = message ?? "The job failed, and Bedrock gave no reason.";
  if (message === null) return { kind: "unknown", code: "job_failed", message: words };
  // The input is missing: upload it again. The bucket's name may contain words about access.
  if (/no such (?:key|object)|no object|does not exist|not found/i.test(words)) {
    return { kind: "unknown", code: "job_failed", message: words };
  }
  if (DENIED.some((phrase) => phrase.test(words))) {
    return { kind: "authOrBilling", code: "job_access_denied", message: words };
  }
  if (/internal|unexpected|try again/i.test(words)) return { kind: "unknown", code: "job_failed", message: words };
  return { kind: "invalidRequest", code: "job_failed", message: words, lines: [] };
}

/** `family`: the model's, for an endpoint of OpenAI; null for answers that are not converted. */
export function toResultLine(
  record: JsonObject,
  batch: ProviderBatch,
  name: BatchName,
  family: Family | null,
): ResultLine {
  const { recordId: customId, modelOutput, error } = record;
  if (typeof customId !== "string") throw new DispatchError("RESULTS_UNREADABLE", "A result has no recordId.");
  const output = jsonObject(modelOutput);
  if (output === null) return failedLine(customId, objectOf(error));
  if (family === null) return { customId, ...nativeAnswer(output, name) };
  return {
    customId,
    ...family.toAnswer(output, { recordId: customId, model: name.model, createdAt: batch.createdAt }),
  };
}

/** The output unchanged, or a failure if it is an error of Claude's or empty. */
function nativeAnswer(output: JsonObject, { endpoint }: BatchName): Answered {
  if (endpoint === MESSAGES || isError(output)) return claudeMessage(output);
  if (Object.keys(output).length === 0) return noAnswer("The model answered with nothing.");
  return answered(output, usageIn(output));
}

const CODES: ReadonlyMap<number, string> = new Map([
  [400, "invalid_request_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [408, "timeout_error"],
  [413, "request_too_large"],
  [424, "api_error"],
  [429, "rate_limit_error"],
]);

/** A record with `{ errorCode, errorMessage }` in place of the output. */
function failedLine(customId: string, { errorCode, errorMessage }: { readonly [key: string]: unknown }): ResultLine {
  const given = Number(errorCode);
  const statusCode = given >= 400 && given < 600 ? given : 500;
  const code = CODES.get(statusCode) ?? "api_error";
  const message = text(errorMessage) ?? "Bedrock gave no reason.";
  return { customId, ...failed(statusCode, code, message, code) };
}

/** The token counts of an unconverted answer, in any of the three formats that models use. */
function usageIn(output: JsonObject): JsonObject | null {
  const usage = jsonObject(output.usage);
  if (usage === null) {
    const { prompt_token_count: input, generation_token_count: generated, inputTextTokenCount: embedded } = output;
    if (input === undefined && embedded === undefined) return null;
    return { input_tokens: input ?? embedded, output_tokens: generated };
  }
  if (usage.inputTokens === undefined) return usage;
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_input_tokens: usage.cacheReadInputTokens ?? usage.cacheReadInputTokenCount,
    cache_creation_input_tokens: usage.cacheWriteInputTokens ?? usage.cacheWriteInputTokenCount,
  };
}

function timeOf(value: unknown): number | null {
  const isTime = typeof value === "string" || Object.prototype.toString.call(value) === "[object Date]";
  const time = isTime ? new Date(value as string | Date).getTime() : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? value : undefined;
}
