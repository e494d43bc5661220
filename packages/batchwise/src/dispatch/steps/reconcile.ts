// Finds out what became of a create whose answer is lost, before anything is sent again: one complete listing, read
// back to before the attempt, and a decision out of adopt.ts. Only a look that began after timeout and grace, and that
// found nothing, lets a new attempt be made.

import { hasEnded, type ProviderBatch } from "../contract/account.ts";
import { type Adoption, decideAdoption } from "../decide/adoption.ts";
import { afterAbsence } from "../decide/after-failure.ts";
import { nextLookAt } from "../decide/life-cycle.ts";
import { tallyOf } from "../decide/retry-policy.ts";
import type { Tenure } from "../runtime/lease.ts";
import { callFor } from "../runtime/provider-calls.ts";
import type { Room } from "../runtime/runtime.ts";
import { follow } from "./apply-plan.ts";
import { othersPass } from "./competing-batches.ts";
import { listBack } from "./list-batches.ts";
import { submit } from "./submit.ts";

const KNOWN_CHUNK = 500;

export async function reconcile(room: Room, tenure: Tenure, since: number, mayRecreate: boolean): Promise<void> {
  const { account } = tenure;
  let adoption: Adoption;
  try {
    const listed = await listBack(room, account, since, [tenure.signal, room.stopping.signal]);
    const known = await knownIds(room, tenure, listed);
    adoption = decideAdoption(tenure.batch, account.capabilities.tag, { listed, known, since, isLast: mayRecreate });
  } catch (error) {
    if (tenure.isOver) throw error;
    if (room.isStopping) return;
    room.report(error);
    await lookLater(tenure);
    return;
  }
  if (adoption.kind === "adopt") await adopt(room, tenure, adoption);
  else if (adoption.kind === "absent" && mayRecreate) await sendAgain(room, tenure);
  else await lookLater(tenure);
}

/** Nothing came of the last attempt: another one, now or after a pause, unless the batch is to blame by now. */
async function sendAgain(room: Room, tenure: Tenure): Promise<void> {
  const { account, batch } = tenure;
  const passed = await othersPass(room, batch, tallyOf(batch));
  const plan = afterAbsence(batch, account, passed, room.clock.now());
  if (plan === null) await submit(room, tenure, batch.submitAttempt + 1);
  else await follow(tenure, plan);
}

/** Those of the listed ids that the store knows as somebody's. What another batch gave back is nobody's. */
async function knownIds(room: Room, { account }: Tenure, listed: readonly ProviderBatch[]): Promise<Set<string>> {
  const known = new Set<string>();
  if (account.capabilities.tag !== "none") return known;
  for (let from = 0; from < listed.length; from += KNOWN_CHUNK) {
    const providerBatchIds = listed.slice(from, from + KNOWN_CHUNK).map(({ id }) => id);
    const query = { account: account.name, providerBatchIds, limit: Number.MAX_SAFE_INTEGER };
    for (const row of await room.store.batches(query)) {
      if (row.providerBatchId !== null) known.add(row.providerBatchId);
      for (const { providerBatchId, action } of row.orphans) if (action !== "foreign") known.add(providerBatchId);
    }
  }
  return known;
}

/** Writes the id of record first; only then are the others stopped. */
async function adopt(room: Room, tenure: Tenure, found: Extract<Adoption, { kind: "adopt" }>): Promise<void> {
  const { batch: seen, verified, extras } = found;
  const written = await tenure.write({
    state: "submitted",
    providerBatchId: seen.id,
    verified,
    providerState: seen.rawState,
    expiresAt: seen.expiresAt,
    unknownSince: null,
    lastError: null,
    pollMs: 0,
  });
  if (!written.ok) {
    await lookLater(tenure);
    return;
  }
  tenure.seen = seen;
  for (const extra of extras) await cancelExtra(room, tenure, extra);
}

async function lookLater(tenure: Tenure): Promise<void> {
  const { account, batch } = tenure;
  await tenure.end((now) => {
    const unknownSince = batch.unknownSince ?? now;
    return { state: "unknown", unknownSince, nextAt: nextLookAt({ ...batch, unknownSince }, account, now) };
  });
}

/** Stops a provider's batch that is not of record, and notes it. One that cannot be reached is left to the sweeper. */
export async function cancelExtra(room: Room, tenure: Tenure, extra: ProviderBatch): Promise<void> {
  const { account } = tenure;
  const action = hasEnded(extra) ? "ignored" : "cancelled";
  try {
    if (action === "cancelled") await callFor(room, tenure, (call) => account.cancel(extra.id, call));
  } catch (error) {
    if (tenure.isOver) throw error;
    room.report(error);
    return;
  }
  await tenure.write((now) => ({ orphans: [{ providerBatchId: extra.id, seenAt: now, action }] }));
  room.duplicateBatches += 1;
}
