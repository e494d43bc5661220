// Ties a batch that is quarantined or unknown to the provider batch that an operator names, once
// the provider has shown that it may be the one. Results verify it: where they are not ours, the
// batch is put back, and nothing of them counts.

import { tiedTo } from "../batches/plan.ts";
import type { ProviderBatch } from "../contract/account.ts";
import { DispatchError } from "../contract/errors.ts";
import type { BatchChanges } from "../contract/store/rows.ts";
import type { BatchRecord, Orphan } from "../contract/types.ts";
import { batchRecord } from "../format/payload.ts";
import type { Lease } from "../runtime/lease/lease.ts";
import { readFor } from "../runtime/provider-calls.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { onceFree } from "./batch-control.ts";
import { judgeNamed, whyNotAdopting } from "./named-batch.ts";

export async function adopt(runtime: Runtime, key: string, providerBatchId: string): Promise<BatchRecord> {
  return onceFree(runtime, key, async (lease) => {
    try {
      const why = whyNotAdopting(lease.batch);
      if (why !== null) throw refused(key, why);
      const { seen, verified } = await fitting(runtime, lease, providerBatchId);
      const tied = await lease.end((now) => adopting(lease, seen, verified, now));
      if (!tied.ok) throw refused(key, `cannot adopt ${providerBatchId}: another batch has just done so`);
      return batchRecord(tied.batch);
    } catch (error) {
      // The loops continue the batch at once, as before the call.
      if (!lease.isOver) await lease.end({});
      throw error;
    }
  });
}

async function fitting(
  runtime: Runtime,
  lease: Lease,
  id: string,
): Promise<{ readonly seen: ProviderBatch; readonly verified: boolean }> {
  const { account, batch } = lease;
  const seen = await readFor(runtime, lease, (call) => account.retrieve(id, call));
  if (seen === null) throw new DispatchError("NOT_FOUND", `The account "${account.name}" knows no batch "${id}".`);
  const query = { account: account.name, providerBatchIds: [seen.id], limit: Number.MAX_SAFE_INTEGER };
  const named = judgeNamed(batch, account.capabilities.tag, seen, await runtime.store.batches(query));
  if (named.kind === "refused") throw refused(batch.key, `cannot adopt ${id}: ${named.because}`);
  return { seen, verified: named.verified };
}

function adopting({ batch }: Lease, seen: ProviderBatch, verified: boolean, now: number): BatchChanges {
  const before = batch.providerBatchId;
  const orphans: Orphan[] = [];
  if (before !== null && before !== seen.id) orphans.push({ providerBatchId: before, seenAt: now, action: "ignored" });
  // Where it turns out to be another's, a batch that waited for a person waits for one again.
  if (batch.state === "quarantined") orphans.push({ providerBatchId: seen.id, seenAt: now, action: "adopted" });
  return {
    ...tiedTo(seen, verified),
    cancelSentAt: null,
    disposal: null,
    nextAt: now,
    orphans,
  };
}

function refused(key: string, why: string): DispatchError {
  return new DispatchError("ADOPTION_REFUSED", `Batch ${key} ${why}.`);
}
