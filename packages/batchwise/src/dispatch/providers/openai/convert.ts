// Converts batches and pages of OpenAI-compatible services to our types. Trusts no type: states may
// have any case, ids may be null, absent or "", times may be seconds or text. Pure.

import type { ProviderBatch, ProviderState } from "../../contract/account.ts";
import type { Failure } from "../../contract/failures.ts";
import { tagIn } from "../shapes/batch-names.ts";
import { count, countOrNull, figuresOf, timeOf } from "../shapes/counts.ts";
import { notJson } from "../shapes/sdk/not-json.ts";
import { objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { toUsage } from "../shapes/usage.ts";
import { classifyBatchErrors } from "./classify.ts";

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
  return {
    id,
    state,
    rawState,
    createdAt: timeOf(batch.created_at) ?? 0,
    expiresAt: timeOf(batch.expires_at),
    tag: tagIn(batch.metadata),
    inputFileId: text(batch.input_file_id),
    ...figuresOf(countOrNull(counts.total), count(counts.completed), count(counts.failed)),
    usage: toUsage(batch.usage),
    resultRefs: [text(batch.output_file_id), text(batch.error_file_id)].filter((ref) => ref !== null),
    failure: state === "failed" ? failureOf(batch.errors ?? batch.error) : null,
  };
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
