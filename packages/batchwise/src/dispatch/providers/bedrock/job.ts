// Converts Bedrock's jobs to provider batches. Trusts no type. Pure.

import type { ProviderBatch, ProviderState } from "../../contract/account.ts";
import type { Failure } from "../../contract/failures.ts";
import { readToken } from "../shapes/batch-names.ts";
import { count, countOrNull, figuresOf, timeOf } from "../shapes/counts.ts";
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

export function toProviderBatch(wire: unknown): ProviderBatch {
  const job = objectOf(wire);
  const id = text(job.jobArn);
  if (id === null) throw new Error("Bedrock answered with a job that has no ARN.");
  const rawState = text(job.status) ?? "";
  const state = STATES.get(rawState.toLowerCase()) ?? "running";
  // Zero while the job is validated.
  const figures = figuresOf(
    countOrNull(job.totalRecordCount),
    count(job.successRecordCount),
    count(job.errorRecordCount),
  );
  return {
    id,
    state,
    rawState,
    createdAt: timeOf(job.submitTime) ?? 0,
    expiresAt: timeOf(job.jobExpirationTime),
    tag: readToken(text(job.clientRequestToken)),
    inputFileId: text(objectOf(objectOf(job.inputDataConfig).s3InputDataConfig).s3Uri),
    ...figures,
    // A failed job gives no results, even if records ran.
    ran: state === "failed" ? null : figures.ran,
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
