// Undoes the adoption of a provider batch that is not ours. Records it as foreign, so that this
// batch does not adopt it again; its own batch still may.

import { DispatchError } from "../../contract/errors.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { nextLookAt } from "../life-cycle.ts";
import { UNTIED } from "../plan.ts";

const BUSY_MS = 5_000;

/**
 * Returns the batch to `unknown`, so that its own is found. If only size and age distinguish
 * batches, it keeps the wrong id while another create of the account is unresolved, because each
 * would take the other's for its own. If creates carry tags or tokens, the other create may wait
 * for this id, so it is released at once.
 */
export async function undoAdoption(runtime: Runtime, lease: Lease): Promise<void> {
  const { account, batch } = lease;
  const now = runtime.clock.now();
  const providerBatchId = batch.providerBatchId as string;
  if (batch.orphans.some((orphan) => orphan.providerBatchId === providerBatchId && orphan.action === "adopted")) {
    await quarantineAgain(runtime, lease, providerBatchId, now);
    return;
  }
  const given = await lease.end({
    state: "unknown",
    exclusive: account.capabilities.tag === "none",
    unknownSince: now,
    ...UNTIED,
    orphans: [{ providerBatchId, seenAt: now, action: "foreign" }],
    nextAt: nextLookAt({ ...batch, unknownSince: now }, account, now),
  });
  if (!given.ok) await lease.end({ nextAt: now + BUSY_MS });
}

/**
 * An operator named the wrong batch during quarantine: an operator must still find out whether it
 * ran.
 */
async function quarantineAgain(runtime: Runtime, lease: Lease, providerBatchId: string, now: number): Promise<void> {
  const because = `it has no results of batch ${lease.batch.key}, which is quarantined again`;
  const error = new DispatchError("ADOPTION_REFUSED", `${providerBatchId} was adopted by mistake: ${because}.`);
  await lease.end({
    state: "quarantined",
    ...UNTIED,
    lastError: JSON.stringify({ code: "adopted_by_mistake", message: error.message }),
    orphans: [{ providerBatchId, seenAt: now, action: "foreign" }],
  });
  runtime.report(error, lease.context("results"));
}
