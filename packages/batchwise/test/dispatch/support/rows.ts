// Rows for the table tests of the dispatcher: a batch as `seal` makes it, with whatever the row of
// the table changes.

import { type BatchCase, NO_EVIDENCE } from "../../../src/dispatch/batches/batch-case.ts";
import type { StepAccount } from "../../../src/dispatch/batches/life-cycle.ts";
import type { PollCase } from "../../../src/dispatch/batches/poll/after-poll.ts";
import { STUCK_AFTER_MS } from "../../../src/dispatch/batches/stuck.ts";
import type { ProviderBatch } from "../../../src/dispatch/contract/account.ts";
import type { BatchRow } from "../../../src/dispatch/contract/store/rows.ts";

export const SEALED_AT = 1_000_000;

export function batchRow(changes: Partial<BatchRow> = {}): BatchRow {
  return {
    key: "01JD3K9V7QX2ABCDEFGHJKMNPQ",
    lane: "/v1/chat/completions  gpt-4o-mini",
    account: "openai",
    ledger: "openai/gpt-4o-mini",
    state: "sealed",
    requests: 10,
    bytes: 1_000,
    tokens: 500,
    remaining: 10,
    cancelRequested: 0,
    createdAt: SEALED_AT,
    updatedAt: SEALED_AT,
    submitAttempt: 0,
    submitStartedAt: null,
    unknownSince: null,
    tries: 0,
    triesSince: null,
    wholeFailures: 0,
    firstRefusedAt: null,
    lastRefusedAt: null,
    splitAt: null,
    inline: null,
    providerFileId: null,
    filePendingSince: null,
    providerBatchId: null,
    verified: true,
    providerState: null,
    lostLooks: 0,
    lostSince: null,
    breaks: 0,
    failedReads: 0,
    unreadableReads: 0,
    shortReads: null,
    failedSteps: 0,
    cancelSentAt: null,
    disposal: null,
    lastError: null,
    pollMs: 0,
    expiresAt: null,
    deadlineAt: null,
    nextAt: SEALED_AT,
    leaseOwner: "a",
    leaseUntil: SEALED_AT + 90_000,
    fence: 1,
    orphans: [],
    ...changes,
  };
}

export function stepAccount(changes: Partial<StepAccount["capabilities"]> = {}): StepAccount & { pollMs: number } {
  return {
    capabilities: { tag: "metadata", maxInlineBytes: 0, ...changes },
    requestTimeoutMs: 60_000,
    reconcileGraceMs: 300_000,
    pollMs: 30_000,
  };
}

/** A batch to decide about, of which nothing else is known. */
export function batchCase(batch: BatchRow, now: number, changes: Partial<BatchCase> = {}): PollCase {
  const known = { ledger: null, othersAccepted: false, evidence: NO_EVIDENCE, stuckAfterMs: STUCK_AFTER_MS };
  return { batch, now, ...known, ...changes, account: { ...stepAccount(), ...changes.account } };
}

/** A provider batch as a listing shows it: running, of ten requests. */
export function providerBatch(id: string, changes: Partial<ProviderBatch> = {}): ProviderBatch {
  return {
    id,
    state: "running",
    rawState: "in_progress",
    createdAt: SEALED_AT,
    expiresAt: null,
    tag: null,
    inputFileId: null,
    total: 10,
    settled: null,
    resultRefs: [],
    failure: null,
    ...changes,
  };
}
