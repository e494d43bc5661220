// Renders a batch and its results as Gemini does: a long-running operation whose metadata is the
// batch. As in protocol buffer JSON, counts are strings and zeros are left out. Pure.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { type Ending, type FakeBatch, SILENT } from "../batch-book.ts";
import { jsonReply, type Refusal, type Reply } from "../exchange.ts";
import { isObject } from "../openai/lines.ts";
import { areCounted, isOver, type Moment, type Phase } from "../timeline.ts";

export interface GeminiExtra {
  readonly displayName: string;
  readonly isEmbedding: boolean;
  /** Whether requests and results are in files. */
  readonly isFile: boolean;
}

export interface Shown {
  readonly moment: Moment;
  readonly counts: { readonly succeeded: number; readonly failed: number };
  readonly now: number;
}

const STATES: Readonly<Record<Phase, string>> = {
  validating: "PENDING",
  in_progress: "RUNNING",
  finalizing: "RUNNING",
  // A cancel is shown only once it is done.
  cancelling: "RUNNING",
  completed: "SUCCEEDED",
  failed: "FAILED",
  expired: "EXPIRED",
  cancelled: "CANCELLED",
};

/** `output` makes the results; only a batch that succeeded has any. */
export function renderOperation(batch: FakeBatch<GeminiExtra>, shown: Shown, output: () => JsonObject): JsonObject {
  const { course, extra, id, model } = batch;
  const { phase, endedAt } = shown.moment;
  const over = isOver(phase);
  const strange = phase === "in_progress" ? course.plan.strangeState : null;
  const hasOutput = phase === "completed" && shown.now >= (endedAt ?? 0) + course.plan.resultsLagMs;
  const isCounted = !(phase === "validating" && extra.isFile) && areCounted(course, shown.moment, shown.now);
  const kind = extra.isEmbedding ? "EmbedContentBatch" : "GenerateContentBatch";
  const type = (name: string): JsonObject => ({
    "@type": `type.googleapis.com/google.ai.generativelanguage.v1main.${name}`,
  });
  const given = hasOutput ? output() : null;
  return withoutAbsent({
    name: `batches/${id}`,
    metadata: withoutAbsent({
      ...type(kind),
      model: `models/${model}`,
      displayName: extra.displayName,
      state: `BATCH_STATE_${(strange ?? STATES[phase]).toUpperCase()}`,
      name: `batches/${id}`,
      createTime: iso(course.acceptedAt),
      updateTime: iso(endedAt ?? shown.now),
      endTime: endedAt === null ? undefined : iso(endedAt),
      batchStats: isCounted ? renderStats(course.items, shown) : undefined,
      output: given ?? undefined,
    }),
    done: over ? true : undefined,
    error: errorOf(batch, phase),
    response: given === null ? undefined : { ...type(`${kind}Output`), ...given },
  });
}

function renderStats(items: number, { moment, counts }: Shown): JsonObject {
  const pending = isOver(moment.phase) ? 0 : items - counts.succeeded - counts.failed;
  const text = (count: number): string | undefined => (count === 0 ? undefined : String(count));
  return withoutAbsent({
    requestCount: text(items),
    successfulRequestCount: text(counts.succeeded),
    failedRequestCount: text(counts.failed),
    pendingRequestCount: text(pending),
  });
}

function errorOf({ course }: FakeBatch<GeminiExtra>, phase: Phase): JsonObject | undefined {
  if (phase === "cancelled") return { code: 1, message: "The operation was cancelled." };
  if (phase !== "failed" || course.faults.includes(SILENT)) return undefined;
  const [fault] = course.faults;
  const at = fault?.line == null ? "" : `Line ${fault.line}: `;
  return { code: RPC_CODES[fault?.code ?? ""] ?? 3, message: `${at}${fault?.message ?? ""}` };
}

/** One result: in a file with its key, inline with its metadata. */
export function renderGeminiResult({ entry, answer }: Ending, isFile: boolean): JsonObject {
  const name = isFile ? { key: entry.customId } : { metadata: { key: entry.customId } };
  if (answer === null) return { ...name, error: { code: 1, message: "The operation was cancelled." } };
  const { status, body } = answer;
  if (status < 300) return { ...name, response: body };
  const { message = `Scripted answer ${status}.` } = isObject(body.error) ? body.error : {};
  return { ...name, error: { code: RPC_CODES[statusName(status)] ?? 2, message } };
}

/** An error in Google's format, with the retry delay in its details. */
export function renderRefusal({ status, message, headers }: Refusal): Reply {
  const name = statusName(status);
  const wait = headers["retry-after"];
  const info = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${wait}s` };
  const error: Json = { code: status, message, status: name, ...(wait === undefined ? {} : { details: [info] }) };
  return jsonReply({ error }, status);
}

/** Numeric codes of google.rpc.Code. */
export const RPC_CODES: Readonly<Record<string, number>> = {
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
};

/** Google's name of an HTTP status. */
export function statusName(status: number): string {
  const names: Readonly<Record<number, string>> = {
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
  };
  return names[status] ?? (status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT");
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

function withoutAbsent(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
