// Renders a job, its files and its results as Mistral does. Requests that did not run have no
// result line, because nothing documents one. Pure.

import type { JsonObject } from "../../../dispatch/contract/types.ts";
import { type Ending, type FakeBatch, SILENT } from "../batch-book.ts";
import type { StoredFile } from "../file-shelf.ts";
import type { Shown } from "../openai/render.ts";
import { areCounted, type Phase } from "../timeline.ts";
import type { FakeLineFault } from "../types.ts";

export interface MistralExtra {
  readonly endpoint: string;
  readonly model: string | null;
  readonly inputFiles: readonly string[];
  readonly metadata: JsonObject | null;
}

const STATES: Readonly<Record<Phase, string>> = {
  validating: "QUEUED",
  in_progress: "RUNNING",
  finalizing: "RUNNING",
  completed: "SUCCESS",
  failed: "FAILED",
  expired: "TIMEOUT_EXCEEDED",
  cancelling: "CANCELLATION_REQUESTED",
  cancelled: "CANCELLED",
};

export function renderJob(batch: FakeBatch<MistralExtra>, shown: Shown): JsonObject {
  const { course, extra } = batch;
  const { moment } = shown;
  const { phase } = moment;
  const isCounted = areCounted(course, moment, shown.now);
  const counts = isCounted ? shown.counts : { succeeded: 0, failed: 0 };
  const strange = phase === "in_progress" ? course.plan.strangeState : null;
  return {
    id: batch.id,
    object: "batch",
    input_files: [...extra.inputFiles],
    metadata: extra.metadata,
    endpoint: extra.endpoint,
    model: extra.model,
    agent_id: null,
    ...resultFiles(batch, shown),
    errors: phase === "failed" && !course.faults.includes(SILENT) ? renderErrors(course.faults) : [],
    outputs: null,
    status: strange ?? STATES[phase],
    created_at: seconds(course.acceptedAt),
    total_requests: isCounted ? course.items : 0,
    completed_requests: counts.succeeded + counts.failed,
    succeeded_requests: counts.succeeded,
    failed_requests: counts.failed,
    started_at: seconds(moment.startedAt),
    completed_at: seconds(moment.endedAt),
  };
}

/**
 * The job's result files. A job of inline requests has none: its results are in the job, if the
 * client requests them.
 */
export function resultFiles(
  { id, course, extra }: FakeBatch<MistralExtra>,
  { moment, counts, now }: Shown,
): { readonly output_file: string | null; readonly error_file: string | null } {
  const isShown = areShown(course.plan.resultsLagMs, { moment, now }) && extra.inputFiles.length > 0;
  return {
    output_file: isShown && counts.succeeded > 0 ? `output-${id}` : null,
    error_file: isShown && counts.failed > 0 ? `error-${id}` : null,
  };
}

export function areShown(lagMs: number, { moment, now }: Pick<Shown, "moment" | "now">): boolean {
  const over = moment.phase === "completed" || moment.phase === "expired" || moment.phase === "cancelled";
  return over && now >= (moment.endedAt ?? 0) + lagMs;
}

/** The job and kind in the id of a result file; null for another id. */
export function parseResultId(id: string): { readonly jobId: string; readonly kind: "output" | "error" } | null {
  const match = /^(output|error)-(.+)$/.exec(id);
  return match === null ? null : { jobId: match[2] as string, kind: match[1] as "output" | "error" };
}

/** The lines of one of the two files. */
export function renderResults(endings: Iterable<Ending>, kind: "output" | "error"): Uint8Array {
  const lines = [...outputsOf(endings)].filter(({ succeeded }) => succeeded === (kind === "output"));
  return new TextEncoder().encode(lines.map(({ line }) => `${JSON.stringify(line)}\n`).join(""));
}

export function* outputsOf(endings: Iterable<Ending>): Generator<{ succeeded: boolean; line: JsonObject }> {
  for (const { entry, answer } of endings) {
    if (answer === null) continue;
    const response = { status_code: answer.status, body: answer.body };
    const line = { id: `batch-${entry.customId}`, custom_id: entry.customId, response, error: null };
    yield { succeeded: answer.status < 300, line };
  }
}

export function renderMistralFile(file: StoredFile): JsonObject {
  return {
    id: file.id,
    object: "file",
    bytes: file.content.length,
    created_at: Math.floor(file.createdAt / 1000),
    filename: file.name,
    purpose: "batch",
    sample_type: file.purpose === "batch" ? "batch_request" : "batch_result",
    source: file.purpose === "batch" ? "upload" : "mistral",
  };
}

/** Groups equal faults with their number. They name no lines. */
function renderErrors(faults: readonly FakeLineFault[]): JsonObject[] {
  const counts = new Map<string, number>();
  for (const { message } of faults) counts.set(message, (counts.get(message) ?? 0) + 1);
  return [...counts].map(([message, count]) => ({ message, count }));
}

function seconds(at: number | null): number | null {
  return at === null ? null : Math.floor(at / 1000);
}
