// Renders a batch and its results as xAI does. A batch has counts and no state; its times are days.
// A batch that xAI's validation refuses is cancelled with a message, and its counts stay at 0.
// Pure.

import type { JsonObject } from "../../../dispatch/contract/types.ts";
import type { Ending, FakeBatch } from "../batch-book.ts";
import type { Shown } from "../openai/render.ts";
import { areCounted } from "../timeline.ts";

export interface XaiExtra {
  readonly name: string;
}

const KEPT_MS = 30 * 24 * 3_600_000;
/** Codes of google.rpc.Code by HTTP status; any other is INTERNAL. */
const RPC: ReadonlyMap<number, number> = new Map([
  [400, 3],
  [403, 7],
  [404, 5],
  [429, 8],
  [503, 14],
]);
const INTERNAL = 13;

export function renderBatch({ id, course, extra }: FakeBatch<XaiExtra>, { moment, counts, now }: Shown): JsonObject {
  const { phase, done, endedAt } = moment;
  const isCounted = phase !== "validating" && phase !== "failed" && areCounted(course, moment, now);
  const rest = course.items - done;
  const cancelledAt = phase === "failed" ? endedAt : course.cancelledAt;
  return {
    batch_id: id,
    name: extra.name,
    create_time: dayOf(course.acceptedAt),
    expire_time: dayOf(course.acceptedAt + KEPT_MS),
    create_api_key_id: "********-****-****-****-************",
    cancel_time: cancelledAt === null ? null : dayOf(cancelledAt),
    cancel_by_xai_message: phase === "failed" ? messageOf(course.faults) : null,
    state: {
      num_requests: isCounted ? course.items : 0,
      num_pending: isCounted && phase !== "cancelled" ? rest : 0,
      num_success: isCounted ? counts.succeeded : 0,
      num_error: isCounted ? counts.failed : 0,
      num_cancelled: isCounted && phase === "cancelled" ? rest : 0,
    },
  };
}

/** The words about the first fault. They name no line. */
function messageOf([first]: FakeBatch<XaiExtra>["course"]["faults"]): string | null {
  return first === undefined || first.message === "" ? null : `JSONL file validation failed: ${first.message}`;
}

export function renderResult({ entry, answer }: Ending): JsonObject {
  const { status, body } = answer ?? { status: 500, body: {} };
  if (status < 300) {
    return { batch_request_id: entry.customId, batch_result: { response: { chat_get_completion: body } } };
  }
  const { message } = (body.error ?? {}) as { readonly message?: string };
  const error = { code: RPC.get(status) ?? INTERNAL, message: message ?? "", details: [] };
  return { batch_request_id: entry.customId, batch_result: { error } };
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, "2026-01-01".length);
}
