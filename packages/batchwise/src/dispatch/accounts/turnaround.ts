// Estimates an account's batch time, from the create to the last result, by recent batches. Pure.

import type { BatchRow } from "../contract/store/rows.ts";

/** The share of batches that took longer than the estimate. */
const SLOWER = 0.1;

/** In ms; null until a batch of the account has ended by itself. */
export function turnaroundOf(ended: readonly BatchRow[]): number | null {
  const spans = ended
    .filter(({ providerBatchId, disposal, submitStartedAt }) => {
      return providerBatchId !== null && disposal === null && submitStartedAt !== null;
    })
    .map(({ updatedAt, submitStartedAt }) => Math.max(0, updatedAt - (submitStartedAt ?? updatedAt)))
    .sort((a, b) => a - b);
  return spans[Math.ceil(spans.length * (1 - SLOWER)) - 1] ?? null;
}
