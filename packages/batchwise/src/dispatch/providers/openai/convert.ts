// Converts batches and pages of OpenAI-compatible services to our types. Trusts no type: states may
// have any case, ids may be null, absent or "", times may be seconds or text. Pure.

import type { ProviderBatch, ProviderState } from "../../contract/account.ts";
import type { Failure } from "../../contract/failures.ts";
import { count, countOrNull } from "../shapes/counts.ts";
import { notJson } from "../shapes/sdk/not-json.ts";
import { objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { toUsage } from "../shapes/usage.ts";
import { classifyBatchErrors } from "./classify.ts";

/** The key of our tag in a batch's metadata. */
export const TAG_KEY = "batchwise_key";
export const TAG_ATTEMPT = "batchwise_attempt";

const STATES: ReadonlyMap<string, ProviderState> = new Map([
  ["validating", "validating"],
  ["queued", "validating"],
  ["in_progress", "running"],
  ["finalizing", "finalizing"],
  ["cancelling", "cancelling"],
  ["canceling", "cancelling"],
  ["completed", "done"],
  ["cancelled", "cancelled"],
  ["canceled", "cancelled"],
  ["expired", "expired"],
  ["failed", "failed"],
]);

/** Converts a batch. An unknown state is not an end, so the batch is polled again. */
export function toProviderBatch(wire: unknown): ProviderBatch {
  // Together wraps the answer of a create.
  const own = objectOf(wire);
  const batch = own.job === undefined ? own : objectOf(own.job);
  const id = text(batch.id);
  if (id === null)
    throw (
      notJson("a call for a batch with its id", wire) ?? new Error("The provider answered with a batch that has no id.")
    );
  const rawState = text(batch.status) ?? "";
  const state = STATES.get(rawState.toLowerCase()) ?? "running";
  const counts = objectOf(batch.request_counts);
  const total = countOrNull(counts.total);
  const settled = total === 0 || total === null ? null : count(counts.completed) + count(counts.failed);
  return {
    id,
    state,
    rawState,
    createdAt: timeOf(batch.created_at) ?? 0,
    expiresAt: timeOf(batch.expires_at),
    tag: tagOf(batch.metadata),
    inputFileId: text(batch.input_file_id),
    total: total === 0 ? null : total,
    settled,
    ran: settled,
    counts: total === 0 || total === null ? null : countsOf(total, counts),
    usage: toUsage(batch.usage),
    resultRefs: [text(batch.output_file_id), text(batch.error_file_id)].filter((ref) => ref !== null),
    failure: state === "failed" ? failureOf(batch.errors ?? batch.error) : null,
  };
}

function countsOf(total: number, counts: { readonly [key: string]: unknown }): NonNullable<ProviderBatch["counts"]> {
  return { total, succeeded: count(counts.completed), failed: count(counts.failed) };
}

/** Null if the service gives no error. */
function failureOf(errors: unknown): Failure | null {
  const { data } = objectOf(errors);
  const isGiven = Array.isArray(data) ? data.length > 0 : text(errors) !== null;
  return isGiven ? classifyBatchErrors(errors) : null;
}

/** The `after` of the next page; null at the end. */
export function nextOf(page: unknown, rows: readonly unknown[]): string | null {
  return objectOf(page).has_more === true ? text(objectOf(rows.at(-1)).id) : null;
}

function tagOf(metadata: unknown): ProviderBatch["tag"] {
  const key = text(objectOf(metadata)[TAG_KEY]);
  const attempt = Number(objectOf(metadata)[TAG_ATTEMPT]);
  return key === null || !Number.isSafeInteger(attempt) ? null : { key, attempt };
}

function timeOf(value: unknown): number | null {
  if (typeof value === "number") return value * 1000;
  const parsed = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(parsed) ? null : parsed;
}
