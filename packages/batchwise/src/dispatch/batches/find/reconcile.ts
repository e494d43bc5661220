// Finds the provider batch of a create whose answer was lost, before anything is sent again:
// searches for its tag, or reads one complete listing back to before the attempt, and decides by
// batches/find/adoption.ts. Only a search that began after timeout and grace, and found nothing,
// allows a new attempt.

import { hasEnded, type ProviderBatch } from "../../contract/account.ts";
import { isMistake } from "../../format/client-error.ts";
import { batchName } from "../../format/encode.ts";
import type { Lease } from "../../runtime/lease/lease.ts";
import { callFor, failureOf } from "../../runtime/provider-calls.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { applyPlan } from "../apply-plan.ts";
import { NO_EVIDENCE } from "../batch-case.ts";
import { nextLookAt } from "../life-cycle.ts";
import { tiedTo } from "../plan.ts";
import { afterAbsence } from "../submit/after-failure.ts";
import { othersAccepted } from "../submit/competing-batches.ts";
import { submit } from "../submit/submit.ts";
import { type Adoption, decideAdoption } from "./adoption.ts";
import { findOrList } from "./list-batches.ts";

const KNOWN_CHUNK = 500;

export async function reconcile(runtime: Runtime, lease: Lease, since: number, mayRecreate: boolean): Promise<void> {
  const { account } = lease;
  let adoption: Adoption;
  try {
    const cuts = [lease.signal, runtime.stopping.signal];
    const listed = await findOrList(runtime, account, batchName(lease.batch), since, cuts);
    const known = await knownIds(runtime, lease, listed);
    adoption = decideAdoption(lease.batch, account.capabilities.tag, { listed, known, since, isLast: mayRecreate });
  } catch (error) {
    if (lease.isOver) throw error;
    if (runtime.isStopping) return;
    if (isMistake(error)) throw error;
    const operation = account.find === undefined ? "list" : "find";
    const failure = failureOf(account, error, operation);
    runtime.troubles.add({ error, failure, context: lease.context(operation) });
    await lookLater(lease, mayRecreate ? account.pollMs : 0);
    return;
  }
  if (adoption.kind === "adopt") await adopt(runtime, lease, adoption);
  else if (adoption.kind === "absent" && mayRecreate) await sendAgain(runtime, lease);
  else await lookLater(lease);
}

/**
 * The last attempt made no batch: submits again, now or after a pause, or does what `afterAbsence`
 * decides.
 */
async function sendAgain(runtime: Runtime, lease: Lease): Promise<void> {
  const { account, batch } = lease;
  const passed = await othersAccepted(runtime, batch, batch);
  const unread = { ledger: null, evidence: NO_EVIDENCE };
  const plan = afterAbsence({ batch, account, ...unread, othersAccepted: passed, now: runtime.clock.now() });
  if (plan === null) await submit(runtime, lease, batch.submitAttempt + 1);
  // The plan writes to no ledger.
  else await applyPlan(runtime, lease, plan, new Map());
}

/**
 * The listed ids that belong, or once belonged, to a batch of the store. Ids recorded as foreign do
 * not count.
 */
async function knownIds(runtime: Runtime, { account }: Lease, listed: readonly ProviderBatch[]): Promise<Set<string>> {
  const known = new Set<string>();
  if (account.capabilities.tag !== "none") return known;
  for (let from = 0; from < listed.length; from += KNOWN_CHUNK) {
    const providerBatchIds = listed.slice(from, from + KNOWN_CHUNK).map(({ id }) => id);
    const query = { account: account.name, providerBatchIds, limit: Number.MAX_SAFE_INTEGER };
    for (const row of await runtime.store.batches(query)) {
      if (row.providerBatchId !== null) known.add(row.providerBatchId);
      for (const { providerBatchId, action } of row.orphans) if (action !== "foreign") known.add(providerBatchId);
    }
  }
  return known;
}

/** Writes the provider id first, then cancels duplicates. */
async function adopt(runtime: Runtime, lease: Lease, found: Extract<Adoption, { kind: "adopt" }>): Promise<void> {
  const { batch: seen, verified, extras } = found;
  const written = await lease.write(tiedTo(seen, verified));
  if (!written.ok) {
    await lookLater(lease);
    return;
  }
  lease.seen = seen;
  let duplicates = 0;
  try {
    for (const extra of extras) duplicates += Number(await cancelExtra(runtime, lease, extra));
  } finally {
    const { account, batch } = lease;
    runtime.events.emit("adopt", () => ({
      ...{ account: account.name, batch: batch.key, providerBatchId: seen.id, verified, duplicates },
    }));
  }
}

async function lookLater(lease: Lease, leastMs = 0): Promise<void> {
  const { account, batch } = lease;
  await lease.end((now) => {
    const unknownSince = batch.unknownSince ?? now;
    const nextAt = Math.max(now + leastMs, nextLookAt({ ...batch, unknownSince }, account, now));
    return { state: "unknown", unknownSince, nextAt };
  });
}

/**
 * Cancels a duplicate at the provider and records it. False if the cancel fails: the sweeper tries
 * again.
 */
export async function cancelExtra(runtime: Runtime, lease: Lease, extra: ProviderBatch): Promise<boolean> {
  const { account } = lease;
  const action = hasEnded(extra) ? "ignored" : "cancelled";
  try {
    if (action === "cancelled") await callFor(runtime, lease, (call) => account.cancel(extra.id, call));
  } catch (error) {
    if (lease.isOver) throw error;
    runtime.report(error, lease.context("cancel"));
    return false;
  }
  await lease.write((now) => ({ orphans: [{ providerBatchId: extra.id, seenAt: now, action }] }));
  runtime.duplicateBatches += 1;
  return true;
}
