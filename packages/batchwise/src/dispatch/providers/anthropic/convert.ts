// Converts Anthropic's wire format to our types: message batches, pages, result lines. Trusts no
// type. Pure.

import type { ProviderBatch, ProviderState, ResultLine } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { JsonObject, OutcomeError } from "../../contract/types.ts";
import { chatAnswer, errorAnswer, nativeAnswer } from "../shapes/anthropic/answer.ts";
import { count, figuresOf, timeOf } from "../shapes/counts.ts";
import { notJson } from "../shapes/sdk/not-json.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk/sdk-error.ts";

const COUNTS = ["processing", "succeeded", "errored", "canceled", "expired"] as const;

/** OpenAI's error codes for items that did not run. */
const NOT_RUN: ReadonlyMap<unknown, OutcomeError> = new Map([
  ["canceled", { code: "batch_cancelled", message: "The request was not run because its batch was cancelled." }],
  ["expired", { code: "batch_expired", message: "The request was not run before its batch expired." }],
]);

export function toProviderBatch(wire: unknown): ProviderBatch {
  const batch = objectOf(wire);
  const id = text(batch.id);
  if (id === null)
    throw (
      notJson("a call for a batch with its id", wire) ?? new Error("The provider answered with a batch that has no id.")
    );
  const counts = objectOf(batch.request_counts);
  const total = COUNTS.reduce((sum, name) => sum + count(counts[name]), 0);
  const state = stateOf(batch, counts);
  const over = state === "done" || state === "cancelled" || state === "expired";
  return {
    id,
    state,
    rawState: text(batch.processing_status) ?? "",
    createdAt: timeOf(batch.created_at) ?? 0,
    expiresAt: timeOf(batch.expires_at),
    tag: null,
    inputFileId: null,
    ...figuresOf(total, count(counts.succeeded), count(counts.errored), total - count(counts.processing)),
    resultRefs: over && text(batch.results_url) !== null ? [id] : [],
    failure: null,
  };
}

/**
 * The state of a batch. `ended` does not say how it ended: the counts do. Items with results may be
 * mixed with items that did not run.
 */
function stateOf(
  batch: { readonly [key: string]: unknown },
  counts: { readonly [key: string]: unknown },
): ProviderState {
  const status = (text(batch.processing_status) ?? "").toLowerCase();
  if (status === "canceling" || status === "cancelling") return "cancelling";
  if (status !== "ended") return "running";
  if (count(counts.canceled) > 0) return "cancelled";
  return count(counts.expired) > 0 ? "expired" : "done";
}

export function toResultLine(value: unknown, batch: ProviderBatch): ResultLine {
  const { customId, type, message, error } = readLine(value);
  if (type === "succeeded") return { customId, ...chatAnswer(message, batch.createdAt) };
  if (type !== "errored") return notRun(customId, type);
  return { customId, ...errorAnswer(error) };
}

/** The same for Anthropic's own endpoint, with messages and errors unchanged. */
export function toNativeLine(value: unknown): ResultLine {
  const { customId, type, message, error } = readLine(value);
  if (type === "succeeded") return { customId, ...nativeAnswer(message) };
  if (type !== "errored") return notRun(customId, type);
  const read = errorAnswer(error);
  return { customId, ...read, response: { statusCode: read.response?.statusCode ?? 500, body: error } };
}

function readLine(value: unknown): ReadLine {
  const { custom_id: customId, result } = objectOf(value);
  if (typeof customId !== "string") throw new DispatchError("RESULTS_UNREADABLE", "A result line has no custom_id.");
  const { type, message, error } = objectOf(result);
  return { customId, type, message: jsonObject(message) ?? {}, error: jsonObject(error) ?? {} };
}

interface ReadLine {
  readonly customId: string;
  readonly type: unknown;
  readonly message: JsonObject;
  readonly error: JsonObject;
}

function notRun(customId: string, type: unknown): ResultLine {
  return { customId, response: null, error: NOT_RUN.get(type) ?? null, usage: null };
}
