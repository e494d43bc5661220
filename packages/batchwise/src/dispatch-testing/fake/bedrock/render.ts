// Renders a batch inference job, and the files that it writes to its bucket, as Bedrock does. Pure.

import type { JsonObject } from "../../../dispatch/contract/types.ts";
import type { Ending, FakeBatch } from "../batch-book.ts";
import { areCounted, type Moment, type Phase } from "../timeline.ts";
import type { FakePlan } from "../types.ts";

/** Values of the create call, and the input's place. */
export interface BedrockExtra {
  readonly request: JsonObject;
  readonly timeoutHours: number;
  /** The input's file name. */
  readonly fileName: string;
  readonly output: { readonly bucket: string; readonly folder: string };
}

export interface JobCounts {
  readonly succeeded: number;
  readonly failed: number;
}

const HOUR = 3_600_000;

const STATUS: Readonly<Record<Phase, string>> = {
  validating: "Validating",
  failed: "Failed",
  in_progress: "InProgress",
  finalizing: "InProgress",
  completed: "Completed",
  expired: "Expired",
  cancelling: "Stopping",
  cancelled: "Stopped",
};

export function renderJob(batch: FakeBatch<BedrockExtra>, moment: Moment, real: JobCounts, now: number): JsonObject {
  const { course, extra, id, entries } = batch;
  const { request, timeoutHours } = extra;
  const areShown = areCounted(course, moment, now);
  const isCounted = moment.startedAt !== null && areShown;
  const counts = areShown ? real : { succeeded: 0, failed: 0 };
  const fault = moment.phase === "failed" ? course.faults[0]?.message : undefined;
  return {
    ...request,
    jobArn: id,
    status: statusOf(moment, course.plan),
    submitTime: iso(course.acceptedAt),
    lastModifiedTime: iso(moment.endedAt ?? moment.startedAt ?? course.acceptedAt),
    timeoutDurationInHours: timeoutHours,
    jobExpirationTime: iso(course.acceptedAt + timeoutHours * HOUR),
    // Zero while the job is validated.
    totalRecordCount: isCounted ? entries.length : 0,
    processedRecordCount: counts.succeeded + counts.failed,
    successRecordCount: counts.succeeded,
    errorRecordCount: counts.failed,
    ...(moment.endedAt === null ? {} : { endTime: iso(moment.endedAt) }),
    ...(fault === undefined || fault === "" ? {} : { message: fault }),
  };
}

/** The job's status. A job that ran out of time after it had begun is `PartiallyCompleted`. */
function statusOf({ phase, done }: Moment, plan: FakePlan): string {
  if (phase === "in_progress" && plan.strangeState !== null) return plan.strangeState;
  return phase === "expired" && done > 0 ? "PartiallyCompleted" : STATUS[phase];
}

/** A line for each record that ran; the others have none. */
export function renderOutput(endings: Iterable<Ending>): string {
  const lines: string[] = [];
  for (const { entry, answer } of endings) {
    if (answer === null) continue;
    const record = { modelInput: JSON.parse(entry.body), recordId: entry.customId };
    const isSuccess = answer.status < 300;
    lines.push(JSON.stringify({ ...record, ...(isSuccess ? { modelOutput: answer.body } : errorOf(answer)) }));
  }
  return lines.map((line) => `${line}\n`).join("");
}

function errorOf({ status, body }: NonNullable<Ending["answer"]>): JsonObject {
  const scripted = (body.error ?? {}) as JsonObject;
  return { error: { errorCode: status, errorMessage: scripted.message ?? `Scripted answer ${status}.` } };
}

export function renderManifest(total: number, { succeeded, failed }: JobCounts): string {
  const processed = succeeded + failed;
  return JSON.stringify({
    totalRecordCount: total,
    processedRecordCount: processed,
    successRecordCount: succeeded,
    errorRecordCount: failed,
  });
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
