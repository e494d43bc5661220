// Renders a message batch and its results as Anthropic does. All items count as processing until
// the batch has ended. Pure.

import type { JsonObject } from "../../../dispatch/contract/types.ts";
import type { Ending, FakeBatch } from "../batch-book.ts";
import { isObject } from "../openai/lines.ts";
import { areCounted, isOver, type Moment, type Phase } from "../timeline.ts";
import { errorType } from "./error-type.ts";

const DAY = 24 * 3_600_000;
/** Results are kept this long after creation, in ms. */
const ARCHIVED_AFTER_MS: number = 29 * DAY;

const NO_COUNTS = { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 };

export interface AnthropicExtra {
  readonly windowMs: number;
}

export function renderMessageBatch(
  batch: FakeBatch<AnthropicExtra>,
  moment: Moment,
  counts: { readonly succeeded: number; readonly failed: number },
  origin: string,
  now: number,
): JsonObject {
  const { course, id } = batch;
  const ended = isOver(moment.phase);
  const archivedAt = course.acceptedAt + ARCHIVED_AFTER_MS;
  const shownAt = (moment.endedAt ?? 0) + course.plan.resultsLagMs;
  const notRun = course.items - moment.done;
  const requestCounts = {
    processing: ended ? 0 : course.items,
    succeeded: ended ? counts.succeeded : 0,
    errored: ended ? counts.failed : 0,
    canceled: moment.phase === "cancelled" ? notRun : 0,
    expired: moment.phase === "expired" ? notRun : 0,
  };
  return {
    id,
    type: "message_batch",
    processing_status: ended ? "ended" : moment.phase === "cancelling" ? "canceling" : "in_progress",
    request_counts: areCounted(course, moment, now) ? requestCounts : NO_COUNTS,
    created_at: iso(course.acceptedAt),
    expires_at: iso(course.acceptedAt + batch.extra.windowMs),
    ended_at: iso(moment.endedAt),
    archived_at: now >= archivedAt ? iso(archivedAt) : null,
    cancel_initiated_at: iso(course.cancelledAt),
    results_url: ended && now >= shownAt && now < archivedAt ? `${origin}/v1/messages/batches/${id}/results` : null,
  };
}

export function renderMessageResults(endings: Iterable<Ending>, phase: Phase): Uint8Array {
  const lines: string[] = [];
  for (const { entry, answer } of endings) {
    const result = answer === null ? { type: phase === "expired" ? "expired" : "canceled" } : resultOf(answer);
    lines.push(`${JSON.stringify({ custom_id: entry.customId, result })}\n`);
  }
  return new TextEncoder().encode(lines.join(""));
}

function resultOf({ status, body }: NonNullable<Ending["answer"]>): JsonObject {
  if (status < 300) return { type: "succeeded", message: body };
  const scripted = isObject(body.error) ? body.error : {};
  const error = { type: scripted.type ?? errorType(status), message: scripted.message ?? `Scripted answer ${status}.` };
  return { type: "errored", error: { type: "error", error, request_id: null } };
}

function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
