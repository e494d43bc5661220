// How long the batches of an account take, from the create to the last result, as seen of late.
// Pure.

import type { BatchRow } from "../../contract/rows.ts";

/** All but this share of the batches ended within the turnaround. */
const SLOWER = 0.1;

/** In milliseconds; null while no batch of the account has ended by itself. */
export function turnaroundOf(ended: readonly BatchRow[]): number | null {
  const spans = ended
    .filter(({ providerBatchId, disposal, submitStartedAt }) => {
      return providerBatchId !== null && disposal === null && submitStartedAt !== null;
    })
    .map(({ updatedAt, submitStartedAt }) => Math.max(0, updatedAt - (submitStartedAt ?? updatedAt)))
    .sort((a, b) => a - b);
  return spans[Math.ceil(spans.length * (1 - SLOWER)) - 1] ?? null;
}
