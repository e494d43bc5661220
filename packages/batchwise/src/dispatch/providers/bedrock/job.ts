// Bedrock's jobs: their names and tokens, and the provider batches that they are. Trusts no type.
// Pure.

import type { BatchName, ProviderBatch, ProviderState } from "../../contract/account.ts";
import type { Failure } from "../../contract/failures.ts";
import { objectOf, text } from "../shapes/sdk/sdk-error.ts";

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

function timeOf(value: unknown): number | null {
  const isTime = typeof value === "string" || Object.prototype.toString.call(value) === "[object Date]";
  const time = isTime ? new Date(value as string | Date).getTime() : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? value : undefined;
}
