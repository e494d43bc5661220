// Decides about a batch whose uploaded file the provider has not processed yet. No line is to blame
// and nothing is charged: the same file is tried again within seconds. A file that is not ready
// after an hour is uploaded again. Pure.

import type { BatchRow } from "../../contract/store/rows.ts";
import type { OutcomeError } from "../../contract/types.ts";
import { type Plan, plan } from "../plan.ts";

const LEAST_MS = 1_000;
const MOST_MS = 15_000;
const GIVE_UP_MS = 60 * 60_000;

/**
 * True once the file has been waited for so long that a create may find out what is wrong with it.
 */
export function isOverdue({ filePendingSince }: BatchRow, now: number): boolean {
  return now - (filePendingSince ?? now) >= GIVE_UP_MS;
}

export function afterPendingFile(batch: BatchRow, { code, message }: OutcomeError, now: number): Plan {
  const since = batch.filePendingSince ?? now;
  const dropFile = isOverdue(batch, now);
  const waitMs = Math.min(MOST_MS, Math.max(LEAST_MS, now - since));
  return plan("sealed", now + waitMs, {
    ...{ dropFile, lastError: { code, message }, figures: { filePendingSince: dropFile ? null : since } },
  });
}
