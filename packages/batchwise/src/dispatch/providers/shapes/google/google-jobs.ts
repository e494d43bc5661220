// States that Gemini batches and Vertex AI jobs share. Pure.

import type { ProviderState } from "../../../contract/account.ts";

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
