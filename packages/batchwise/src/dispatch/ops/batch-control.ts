// What an operator does to one batch that will not end by itself: cancel its requests, or let go of
// it. Both are written before they return, and any process with running loops carries them out.

import { DispatchError, OUTCOME_CODES } from "../contract/errors.ts";
import type { BatchChanges, BatchRow } from "../contract/rows.ts";
import type { Orphan } from "../contract/types.ts";
import { CANCELLED, type Disposal } from "../format/payload.ts";
import { Lease } from "../runtime/lease.ts";
import { callFor } from "../runtime/provider-calls.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { leaseInput } from "../runtime/store-time.ts";
import { noteUncancelled } from "../steps/sweep/late-cancels.ts";

const PAGE = 10_000;
const LOOK_AGAIN_MS = 1_000;
const WORDS = { code: OUTCOME_CODES.abandoned, message: "The batch was abandoned by an operator." };

/**
 * Wishes each open request of the batch cancelled. Gives the number of them, and whether the batch
 * waits for a person.
 */
export async function cancelMembers(runtime: Runtime, key: string): Promise<{ count: number; isAside: boolean }> {
  const { store, sinks, clock } = runtime;
  const batch = await known(runtime, key);
  let count = 0;
  for (let fromOrd = 0; ; ) {
    const page = await store.requests({ batchKey: key, fromOrd, limit: PAGE });
    const ids = page.map(({ id }) => id);
    if (ids.length > 0) await store.amend({ kind: "cancel", ids, ...CANCELLED }, sinks, clock.now());
    count += ids.length;
    if (page.length < PAGE) break;
    fromOrd = (page.at(-1)?.ord as number) + 1;
  }
  runtime.outcomesRecorded();
  return { count, isAside: batch.state === "quarantined" };
}

/**
 * Cancels the batch at the provider and ends or requeues its requests. Gives the number of requests
 * let go.
 */
export async function abandon(runtime: Runtime, key: string, requests: "end" | "requeue"): Promise<number> {
  const lease = await take(runtime, key);
  const { state, remaining } = lease.batch;
  try {
    // One that is being disposed of has nothing at the provider, and ends by itself.
    const isLeaving = state === "done" || lease.batch.disposal !== null;
    await lease.end(isLeaving ? {} : await lettingGo(runtime, lease, requests));
    return state === "done" ? 0 : remaining;
  } finally {
    lease.close();
    runtime.working.wake();
  }
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

/**
 * Late results count for nothing, whatever comes of the cancel. One that fails is tried again
 * later.
 */
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

/** Leases the batch, once nobody works on it any more. */
export async function take(runtime: Runtime, key: string): Promise<Lease> {
  const { store, clock, options } = runtime;
  const { leaseMs, accounts } = options;
  const until = clock.monotonic() + leaseMs;
  while (clock.monotonic() <= until) {
    const account = accounts.get((await known(runtime, key)).account);
    if (account === undefined) throw new DispatchError("NO_ACCOUNT", `Batch ${key} is of an account that is not here.`);
    const begunAt = clock.monotonic();
    const which = { accounts: [account.name], limit: 1, keys: [key] };
    const [batch] = await store.lease(await leaseInput(runtime, which));
    if (batch !== undefined) return new Lease(runtime, account, batch, begunAt);
    await runtime.sleep(LOOK_AGAIN_MS);
  }
  throw new DispatchError("BATCH_BUSY", `Batch ${key} is being worked on. Try again.`);
}

async function known(runtime: Runtime, key: string): Promise<BatchRow> {
  const [batch] = await runtime.store.batches({ keys: [key], limit: 1 });
  if (batch === undefined) throw new DispatchError("NOT_FOUND", `There is no batch with the key "${key}".`);
  return batch;
}
