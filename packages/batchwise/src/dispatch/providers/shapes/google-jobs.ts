// States and display names that Gemini batches and Vertex AI jobs share. Pure.

import type { BatchName, ProviderBatch, ProviderState } from "../../contract/account.ts";

const TAG = /^batchwise-([0-9A-Z]{26})-(\d{1,9})$/;

/** States by the end of BATCH_STATE_… and JOB_STATE_…; any other is running. */
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

/** Our name of a state; null if there is none. */
export function toState(rawState: string): ProviderState | null {
  const word = rawState.replace(/^(?:BATCH|JOB)_STATE_/i, "").toUpperCase();
  return word === "" || word === "UNSPECIFIED" ? null : (STATES.get(word) ?? "running");
}

/** The display name of our batches. */
export function displayNameOf({ key, attempt }: Pick<BatchName, "key" | "attempt">): string {
  return `batchwise-${key}-${attempt}`;
}

/** The tag in a display name; null if it is not ours. */
export function readTag(displayName: string | null): ProviderBatch["tag"] {
  const [, key, attempt] = TAG.exec(displayName ?? "") ?? [];
  return key === undefined ? null : { key, attempt: Number(attempt) };
}
