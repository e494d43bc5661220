// Ends a batch whose members are all settled: calls `onBatch`, cleans up at the provider if the
// account does that, then writes `done`. A process that dies in between leaves a batch that is not
// done, and the next process repeats both: each runs at least once per batch. Only `onBatch` is
// retried when it fails.

import { DispatchError } from "../../contract/errors.ts";
import type { EndedBatch } from "../../contract/events.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import type { OutcomeStatus } from "../../contract/types.ts";
import { batchName } from "../../format/encode.ts";
import { NO_TOKENS, sumOfTokens } from "../../format/open-requests.ts";
import { batchRecord, outcomeUsage } from "../../format/payload.ts";
import { priceOf } from "../../prices/price.ts";
import { backoff } from "../../runtime/backoff.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { bounded, callFor } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { matching } from "../../runtime/store/pages.ts";

const BUSY_MS = 5_000;
const PAGE = 500;
const ENDED: readonly OutcomeStatus[] = ["succeeded", "failed", "cancelled", "expired"];

/** True for a batch that has nothing left to do but to end. */
export function isSettled({ state, remaining }: BatchRow): boolean {
  return state === "collecting" && remaining === 0;
}

export async function endBatch(runtime: Runtime, lease: Lease): Promise<void> {
  if (!(await callOnBatch(runtime, lease))) return;
  if (lease.account.cleanup !== undefined) await cleanUp(runtime, lease);
  const ended = await lease.end({ state: "done" });
  if (!ended.ok) await lease.end((now) => ({ nextAt: now + BUSY_MS }));
  runtime.sealing.wake();
}

/**
 * False, and the lease given back until the next try, when the user's function threw or took too
 * long.
 */
async function callOnBatch(runtime: Runtime, lease: Lease): Promise<boolean> {
  const { budget, clock, options } = runtime;
  const { onBatch, leaseMs, retry } = options;
  if (onBatch === null) return true;
  if (budget !== null && runtime.isStopping) return leave(lease);
  const begunAt = clock.monotonic();
  try {
    const ended = await endedBatch(runtime, lease.batch);
    await bounded(runtime, leaseMs, [lease.signal], async () => onBatch(ended));
    return true;
  } catch (error) {
    if (lease.isOver) throw error;
    if (runtime.isCut) {
      if (budget?.isWhole(clock.monotonic() - begunAt) === true) tellOfTime(runtime, lease);
      return leave(lease);
    }
    runtime.report(error, lease.context("deliver"));
    const breaks = lease.batch.breaks + 1;
    const pauseMs = backoff(retry.backoffMs, retry.maxBackoffMs, breaks);
    // Nothing of the batch runs at the provider, so its room is released for others.
    await lease.end((now) => ({ nextAt: now + pauseMs, releaseAt: now, breaks }));
    return false;
  }
}

/** A later run calls `onBatch`, at once. */
async function leave(lease: Lease): Promise<false> {
  await lease.end((now) => ({ nextAt: now, releaseAt: now }));
  return false;
}

/** The next run gives the user's function no more time. */
function tellOfTime(runtime: Runtime, lease: Lease): void {
  const words = `\`onBatch\` did not end for batch ${lease.batch.key} in the time of a run`;
  const message = `${words}: give it a longer \`maxMs\`. Each run calls it again until then.`;
  runtime.reportOnce(message, new DispatchError("RUN_TOO_SHORT", message), lease.context("deliver"));
}

/** Deletes the provider's batch and files. A failure is reported and not retried. */
async function cleanUp(runtime: Runtime, lease: Lease): Promise<void> {
  const { account, batch } = lease;
  const { cleanup } = account;
  const { providerBatchId, providerFileId: fileId } = batch;
  if (cleanup === undefined || providerBatchId === null || !batch.verified || runtime.isStopping) return;
  try {
    const input = { ...batchName(batch), providerBatchId, fileId };
    await callFor(runtime, lease, (call) => cleanup.call(account, input, call));
  } catch (error) {
    if (lease.isOver) throw error;
    runtime.report(error, lease.context("cleanup"));
  }
}

/** The batch with what its requests came to, as far as the store still has their outcomes. */
async function endedBatch({ store, options }: Runtime, row: BatchRow): Promise<EndedBatch> {
  const counts = { succeeded: 0, failed: 0, cancelled: 0, expired: 0 };
  let tokens = NO_TOKENS;
  for await (const page of matching(store, { batchKey: row.key, states: ENDED }, { limit: PAGE })) {
    for (const outcome of await store.outcomes({ ids: page.map(({ id }) => id) })) {
      if (outcome.batchKey !== row.key) continue;
      counts[outcome.status] += 1;
      tokens = sumOfTokens(tokens, outcomeUsage(outcome) ?? NO_TOKENS);
    }
  }
  const ended = counts.succeeded + counts.failed + counts.cancelled + counts.expired;
  const record = batchRecord(row);
  const price = priceOf(tokens, record.model, options.prices);
  return { ...record, state: "done", ended: counts, requeued: row.requests - ended, ...tokens, price };
}
