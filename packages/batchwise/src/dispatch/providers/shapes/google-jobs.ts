// What the batches of the Gemini API and the jobs of Vertex AI have in common: their states, and
// the display name by which ours are known. Pure.

import type { BatchName, ProviderBatch, ProviderState } from "../../contract/account.ts";

const TAG = /^batchwise-([0-9A-Z]{26})-(\d{1,9})$/;

/** By the end of BATCH_STATE_… and JOB_STATE_…; any other is running. */
const STATES: ReadonlyMap<string, ProviderState> = new Map([
  ["QUEUED", "validating"],
  ["PENDING", "validating"],
  ["CANCELLING", "cancelling"],
  ["SUCCEEDED", "done"],
  ["PARTIALLY_SUCCEEDED", "done"],
  ["FAILED", "failed"],
  ["CANCELLED", "cancelled"],
  ["EXPIRED", "expired"],
]);

/** A state in our words; null where none is named. */
export function toState(rawState: string): ProviderState | null {
  const word = rawState.replace(/^(?:BATCH|JOB)_STATE_/i, "").toUpperCase();
  return word === "" || word === "UNSPECIFIED" ? null : (STATES.get(word) ?? "running");
}

/** The display name that batches of ours have. */
export function displayNameOf({ key, attempt }: Pick<BatchName, "key" | "attempt">): string {
  return `batchwise-${key}-${attempt}`;
}

/** The tag in a display name; null where it is not one of ours. */
export function readTag(displayName: string | null): ProviderBatch["tag"] {
  const [, key, attempt] = TAG.exec(displayName ?? "") ?? [];
  return key === undefined ? null : { key, attempt: Number(attempt) };
}
