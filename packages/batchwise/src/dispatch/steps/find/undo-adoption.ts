// Undoes the adoption of a provider batch that turned out not to be ours. Records it as foreign, so
// that this batch does not adopt it again; the batch that it belongs to still may.

import { DispatchError } from "../../contract/errors.ts";
import { nextLookAt } from "../../decide/batch/life-cycle.ts";
import type { Lease } from "../../runtime/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";

const BUSY_MS = 5_000;

/**
 * Puts the batch back to `unknown`, so that its own is found. Where nothing but size and age tells
 * batches apart, it keeps the wrong id while another create of the account is unresolved: each
 * would take the other's for its own. Where creates carry tags or tokens, the other create may be
 * the one that waits for this id: it is given back at once.
 */
export async function undoAdoption(runtime: Runtime, lease: Lease): Promise<void> {
  const { account, batch } = lease;
  const now = runtime.clock.now();
  const providerBatchId = batch.providerBatchId as string;
  if (batch.orphans.some((orphan) => orphan.providerBatchId === providerBatchId && orphan.action === "adopted")) {
    await putAside(runtime, lease, providerBatchId, now);
    return;
  }
  const given = await lease.end({
    state: "unknown",
    exclusive: account.capabilities.tag === "none",
    unknownSince: now,
    providerBatchId: null,
    verified: true,
    providerState: null,
    expiresAt: null,
    orphans: [{ providerBatchId, seenAt: now, action: "foreign" }],
    nextAt: nextLookAt({ ...batch, unknownSince: now }, account, now),
  });
  if (!given.ok) await lease.end({ nextAt: now + BUSY_MS });
}

/**
 * An operator named the wrong one while the batch was quarantined: whether it has run is still for
 * a person to find out.
 */
async function putAside(runtime: Runtime, lease: Lease, providerBatchId: string, now: number): Promise<void> {
  const because = `it has no results of batch ${lease.batch.key}, which is quarantined again`;
  const error = new DispatchError("ADOPTION_REFUSED", `${providerBatchId} was adopted by mistake: ${because}.`);
  await lease.end({
    state: "quarantined",
    providerBatchId: null,
    verified: true,
    providerState: null,
    expiresAt: null,
    lastError: JSON.stringify({ code: "adopted_by_mistake", message: error.message }),
    orphans: [{ providerBatchId, seenAt: now, action: "foreign" }],
  });
  runtime.report(error, lease.context("results"));
}
