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
  if (seen !== null && hasEnded(seen)) return seen;
  const message =
    seen === null
      ? "The provider does not know the batch any more."
      : `The provider says ${seen.rawState} of a batch that had ended.`;
  runtime.report(new Error(`Batch ${lease.batch.key}: ${message} It is polled again.`), lease.context("retrieve"));
  // A missing one is quarantined in the end.
  await putOff(lease, seen === null ? "batch_vanished" : "not_ended", message, seen === null);
  return null;
}
