// An operator's actions on one batch that does not end by itself: cancel its requests, or abandon
// it. Both are written before they return, and any process with running loops carries them out.

import { noteUncancelled } from "../batches/sweep/late-cancels.ts";
import { DispatchError, OUTCOME_CODES } from "../contract/errors.ts";
import type { BatchChanges, BatchRow } from "../contract/store/rows.ts";
import type { Orphan } from "../contract/types.ts";
import { CANCELLED, type Disposal } from "../format/payload.ts";
import type { Lease } from "../runtime/lease/lease.ts";
import { underLeases } from "../runtime/lease/leases-by-key.ts";
import { callFor } from "../runtime/provider-calls.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { openMembers } from "../runtime/store/pages.ts";

const LOOK_AGAIN_MS = 1_000;
const WORDS = { code: OUTCOME_CODES.abandoned, message: "The batch was abandoned by an operator." };

/**
 * Requests the cancel of every open member. Returns their number, and whether the batch is
 * quarantined.
 */
export async function cancelMembers(runtime: Runtime, key: string): Promise<{ count: number; isQuarantined: boolean }> {
  const { store, sinks, clock } = runtime;
  const batch = await known(runtime, key);
  let count = 0;
  for await (const page of openMembers(store, key)) {
    const ids = page.map(({ id }) => id);
    await store.amend({ kind: "cancel", ids, ...CANCELLED }, sinks, clock.now());
    count += ids.length;
  }
  runtime.outcomesRecorded();
  return { count, isQuarantined: batch.state === "quarantined" };
}

/**
 * Cancels the batch at the provider and ends or requeues its requests. Returns the number of
 * requests released.
 */
export async function abandon(runtime: Runtime, key: string, requests: "end" | "requeue"): Promise<number> {
  return onceFree(runtime, key, async (lease) => {
    const { state, remaining, disposal } = lease.batch;
    // A batch with a disposal has nothing at the provider, and ends by itself.
    const isLeaving = state === "done" || disposal !== null;
    await lease.end(isLeaving ? {} : await lettingGo(runtime, lease, requests));
    return state === "done" ? 0 : remaining;
  });
}

async function lettingGo(runtime: Runtime, lease: Lease, requests: "end" | "requeue"): Promise<BatchChanges> {
  const orphan = await stopAtProvider(runtime, lease);
  const disposal: Disposal = requests === "end" ? { kind: "end", error: WORDS } : { kind: "requeue", code: WORDS.code };
  return {
    state: "collecting",
    disposal: JSON.stringify(disposal),
    lastError: JSON.stringify(WORDS),
    providerBatchId: null,
    verified: true,
    orphans: orphan === null ? [] : [orphan],
    nextAt: runtime.clock.now(),
  };
}

/** Late results are ignored even if the cancel fails; a failed cancel is retried later. */
async function stopAtProvider(runtime: Runtime, lease: Lease): Promise<Orphan | null> {
  const { account, batch } = lease;
  const { providerBatchId } = batch;
  if (providerBatchId === null) return null;
  const orphan = { providerBatchId, seenAt: runtime.clock.now() };
  // It may be a stranger's.
  if (!batch.verified) return { ...orphan, action: "foreign" };
  try {
    await callFor(runtime, lease, (call) => account.cancel(providerBatchId, call));
    return { ...orphan, action: "cancelled" };
  } catch (error) {
    if (lease.isOver) throw error;
    runtime.report(error, lease.context("cancel"));
    await noteUncancelled(runtime, lease, providerBatchId);
    return { ...orphan, action: "ignored" };
  }
}

/** Runs `work` under the batch's lease, once no other process holds it. */
export async function onceFree<T>(runtime: Runtime, key: string, work: (lease: Lease) => Promise<T>): Promise<T> {
  const { clock, options } = runtime;
  const { leaseMs, accounts } = options;
  const until = clock.monotonic() + leaseMs;
  try {
    while (clock.monotonic() <= until) {
      const { account } = await known(runtime, key);
      if (!accounts.has(account))
        throw new DispatchError("NO_ACCOUNT", `Batch ${key} is of an account that is not here.`);
      const [done] = await underLeases(runtime, [key], async (lease) => ({ result: await work(lease) }), [account]);
      if (done !== undefined) return done.result;
      await runtime.sleep(LOOK_AGAIN_MS);
    }
  } finally {
    runtime.working.wake();
  }
  throw new DispatchError("BATCH_BUSY", `Batch ${key} is being worked on. Try again.`);
}

async function known(runtime: Runtime, key: string): Promise<BatchRow> {
  const [batch] = await runtime.store.batches({ keys: [key], limit: 1 });
  if (batch === undefined) throw new DispatchError("NOT_FOUND", `There is no batch with the key "${key}".`);
  return batch;
}
