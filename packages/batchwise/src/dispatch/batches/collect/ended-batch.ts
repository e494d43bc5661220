// Retrieves the provider's batch again before its results are read: it may have vanished, or be
// running again.

import { hasEnded, type ProviderBatch } from "../../contract/account.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { readFor } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { putOff } from "./put-off.ts";

/**
 * The provider's batch with its result addresses; null, with the lease ended, if it cannot be
 * collected yet.
 */
export async function endedBatch(runtime: Runtime, lease: Lease): Promise<ProviderBatch | null> {
  const { account } = lease;
  const id = lease.batch.providerBatchId;
  if (id === null) throw new Error(`Batch ${lease.batch.key} has no results to collect.`);
  const seen = lease.seen ?? (await readFor(runtime, lease, (call) => account.retrieve(id, call)));
  lease.seen = null;
  if (seen === null) {
    await notEnded(runtime, lease, "batch_vanished", "The provider does not know the batch any more.");
    return null;
  }
  if (hasEnded(seen)) return seen;
  await notEnded(runtime, lease, "not_ended", `The provider says ${seen.rawState} of a batch that had ended.`);
  return null;
}

/**
 * Reports a batch that had ended and now, by the provider, has not. A missing one is quarantined in
 * the end.
 */
async function notEnded(
  runtime: Runtime,
  lease: Lease,
  code: "batch_vanished" | "not_ended",
  message: string,
): Promise<void> {
  runtime.report(new Error(`Batch ${lease.batch.key}: ${message} It is polled again.`), lease.context("retrieve"));
  await putOff(lease, code, message, code === "batch_vanished");
}
