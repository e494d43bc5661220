// Writes a Plan as one transition. A plan that leads to collecting keeps the lease; any other plan
// gives it back until `nextAt`.

import { asIn, closedByAnswer, type Ledgers, outageChange, pausedFor } from "../accounts/pause-changes.ts";
import type { LedgerChanges } from "../contract/store/ledger-rows.ts";
import type { BatchChanges, BatchRow } from "../contract/store/rows.ts";
import type { Disposal } from "../format/payload.ts";
import type { Lease } from "../runtime/lease/lease.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { type Plan, UNTIED } from "./plan.ts";

/**
 * Writes the plan, which was decided on these ledgers. False if another process has paused the
 * account since: then the plan's pause is not written.
 */
export async function applyPlan(
  runtime: Runtime,
  lease: Lease,
  plan: Plan,
  ledgers: Ledgers,
  more: BatchChanges = {},
): Promise<boolean> {
  if (plan.avoidAccountMs !== null) runtime.troubles.avoid(lease.account.name, plan.avoidAccountMs);
  const write = (now: number): BatchChanges => ({ ...changesOf(lease.batch, plan, ledgers, now), ...more });
  const result = plan.state === "collecting" ? await lease.write(write) : await lease.end(write);
  // A pause is the last of the changes.
  return result.ok && result.written.at(-1) !== false;
}

function changesOf(batch: BatchRow, plan: Plan, ledgers: Ledgers, now: number): BatchChanges {
  const { state, nextAt, figures, disposal, lastError } = plan;
  return {
    ...figures,
    state,
    nextAt,
    ...(lastError === undefined ? {} : { lastError: lastError === null ? null : JSON.stringify(lastError) }),
    unknownSince: state === "unknown" ? (batch.unknownSince ?? now) : null,
    ...disposing(disposal, now),
    // A new upload starts a new wait for its file.
    ...(plan.dropFile ? { providerFileId: null, filePendingSince: null } : {}),
    ...(plan.forget ? forget(batch.providerBatchId, now) : {}),
    ledgers: ledgerChanges(plan, batch, ledgers, now),
  };
}

/** The members leave the batch in the next step under this lease. */
export async function takeApart(lease: Lease, disposal: Disposal, more: BatchChanges = {}): Promise<void> {
  await lease.write((now) => ({ ...more, state: "collecting", ...disposing(disposal, now) }));
}

/** How the members leave, and since when they are divided. */
function disposing(disposal: Disposal | null, now: number): BatchChanges {
  const isDivided = disposal?.kind === "split" || disposal?.kind === "canary";
  return { disposal: disposal === null ? null : JSON.stringify(disposal), ...(isDivided ? { splitAt: now } : {}) };
}

/** Clears the provider batch of record, which has ended, and keeps it as an `ended` orphan. */
function forget(providerBatchId: string | null, seenAt: number): BatchChanges {
  if (providerBatchId === null) return {};
  return { ...UNTIED, cancelSentAt: null, orphans: [{ providerBatchId, seenAt, action: "ended" }] };
}

function ledgerChanges(plan: Plan, { ledger, account }: BatchRow, ledgers: Ledgers, now: number): LedgerChanges[] {
  const note = plan.lastError?.code ?? null;
  const changes: LedgerChanges[] = [];
  if (plan.ledger !== null) {
    const { learnedTokens, pause } = plan.ledger;
    if (learnedTokens !== null) changes.push({ name: ledger, learnedTokens, learnedAt: now });
    if (pause !== null) changes.push({ ...asIn(ledgers, ledger), ...pause, note });
  }
  const { pauseAccountUntil, outage } = plan;
  if (outage !== null) {
    const paused = pauseAccountUntil === null ? {} : { blockedUntil: pauseAccountUntil, strikes: 0 };
    changes.push({ ...outageChange(ledgers, account, outage), ...paused, note });
  } else if (pauseAccountUntil !== null) {
    if (plan.isKeyRefused) changes.push(closedByAnswer(account, pauseAccountUntil, note));
    else changes.push(...pausedFor(ledgers, account, pauseAccountUntil, note));
  }
  return changes;
}
