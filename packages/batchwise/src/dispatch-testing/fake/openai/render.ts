// Renders a batch and its results as an OpenAI-shaped service does: states, times, counts, file
// ids, result lines. Pure.

import type { JsonObject } from "../../../dispatch/contract/types.ts";
import { type Ending, type FakeBatch, SILENT } from "../batch-book.ts";
import { areCounted, type Moment, type Phase } from "../timeline.ts";
import type { FakeDialect, FakeLineFault, FakePlan } from "../types.ts";

export interface OpenAiExtra {
  readonly endpoint: string;
  readonly inputFileId: string;
  readonly window: string;
  readonly metadata: JsonObject | null;
  /** How long its result files are kept after its create. */
  readonly keptMs: number;
}

export interface Shown {
  readonly moment: Moment;
  readonly counts: { readonly succeeded: number; readonly failed: number };
  readonly now: number;
}

/** Dialects that say in ISO 8601 when a batch was created. */
const TIMES_AS_TEXT: ReadonlySet<FakeDialect> = new Set(["novita", "voyage"]);

export function renderBatch(
  batch: FakeBatch<OpenAiExtra>,
  { moment, counts, now }: Shown,
  dialect: FakeDialect,
): JsonObject {
  const { course, extra } = batch;
  const { phase } = moment;
  const end = (wanted: Phase): number | null => (phase === wanted ? seconds(moment.endedAt) : null);
  const isCounted = phase !== "validating" && phase !== "failed" && areCounted(course, moment, now);
  const total = isCounted ? course.items : 0;
  const failed = total === 0 ? 0 : counts.failed;
  return {
    id: batch.id,
    object: "batch",
    endpoint: extra.endpoint,
    errors: phase === "failed" && !course.faults.includes(SILENT) ? renderErrors(course.faults) : null,
    input_file_id: extra.inputFileId,
    completion_window: extra.window,
    status: stateWord(phase, course.plan),
    ...resultFiles(batch, moment, counts, now),
    created_at: TIMES_AS_TEXT.has(dialect) ? new Date(course.acceptedAt).toISOString() : seconds(course.acceptedAt),
    in_progress_at: seconds(moment.startedAt),
    expires_at: Number.isFinite(course.windowMs) ? seconds(course.acceptedAt + course.windowMs) : null,
    finalizing_at: seconds(moment.finalizingAt),
    completed_at: end("completed"),
    failed_at: end("failed"),
    expired_at: end("expired"),
    cancelling_at: seconds(course.cancelledAt),
    cancelled_at: end("cancelled"),
    request_counts: { total, completed: total === 0 ? 0 : counts.succeeded, failed },
    ...(dialect === "together" ? {} : { metadata: extra.metadata }),
  };
}

/**
 * The ids of its two result files, null if absent. A batch that has not ended has none; a failed
 * one has them only by its plan.
 */
export function resultFiles(
  batch: FakeBatch<OpenAiExtra>,
  { phase, done, endedAt }: Moment,
  counts: Shown["counts"],
  now: number,
): { readonly output_file_id?: string | null; readonly error_file_id?: string | null } {
  const { plan } = batch.course;
  const shownAt = (endedAt ?? 0) + plan.resultsLagMs;
  const over = (phase === "completed" || phase === "expired" || phase === "cancelled") && now >= shownAt;
  const notRun = batch.course.items - done;
  const failedWithFiles = phase === "failed" && plan.failedNamesFiles;
  const output = failedWithFiles || (over && counts.succeeded > 0);
  const errors = failedWithFiles || (over && (counts.failed > 0 || notRun > 0 || plan.emptyErrorFile));
  return {
    ...named("output_file_id", output ? outputFileId(batch.id) : null, plan),
    ...named("error_file_id", errors ? errorFileId(batch.id) : null, plan),
  };
}

function named<Name extends string>(name: Name, id: string | null, plan: FakePlan): { [key in Name]?: string | null } {
  if (id !== null) return { [name]: id } as { [key in Name]: string };
  if (plan.absentFile === "omitted") return {};
  return { [name]: plan.absentFile === "empty" ? "" : null } as { [key in Name]: string | null };
}

function outputFileId(batchId: string): string {
  return `file-output-${batchId}`;
}

function errorFileId(batchId: string): string {
  return `file-error-${batchId}`;
}

/** The batch and kind in the id of a result file; null for another id. */
export function parseResultFileId(id: string): { readonly batchId: string; readonly kind: "output" | "error" } | null {
  const match = /^file-(output|error)-(.+)$/.exec(id);
  return match === null ? null : { batchId: match[2] as string, kind: match[1] as "output" | "error" };
}

/** The lines of one of the two files. */
export function renderResults(endings: Iterable<Ending>, kind: "output" | "error", phase: Phase): Uint8Array {
  const lines: string[] = [];
  for (const ending of phase === "failed" ? [] : endings) {
    const succeeded = ending.answer !== null && ending.answer.status < 300;
    if (succeeded === (kind === "output")) lines.push(JSON.stringify(renderEnding(ending, phase)));
  }
  return new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
}

function renderEnding({ entry, answer }: Ending, phase: Phase): JsonObject {
  const line = { id: `batch_req_${entry.customId}`, custom_id: entry.customId };
  if (answer === null) return { ...line, response: null, error: notRunError(phase) };
  const response = { status_code: answer.status, request_id: `req_${entry.customId}`, body: answer.body };
  return { ...line, response, error: null };
}

function notRunError(phase: Phase): JsonObject {
  if (phase === "expired") {
    return {
      code: "batch_expired",
      message: "This request could not be executed before the completion window expired.",
    };
  }
  return { code: "batch_cancelled", message: "This request was not executed because the batch was cancelled." };
}

function renderErrors(faults: readonly FakeLineFault[]): JsonObject {
  const data = faults.map(({ code, message, line, param }) => ({
    code,
    message,
    line: line ?? null,
    param: param ?? null,
  }));
  return { object: "list", data };
}

function stateWord(phase: Phase, plan: FakePlan): string {
  if (phase === "in_progress" && plan.strangeState !== null) return plan.strangeState;
  if (plan.stateCase === "upper") return phase.toUpperCase();
  return plan.stateCase === "lower" ? phase : phase.charAt(0).toUpperCase() + phase.slice(1);
}

function seconds(at: number | null): number | null {
  return at === null ? null : Math.floor(at / 1000);
}
