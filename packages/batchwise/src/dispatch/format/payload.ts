// The texts that the dispatcher keeps in a store and reads back: outcome payloads, errors,
// disposals, and the rows as callers see them. Pure; the store never looks inside.

import type { LineFault } from "../contract/account.ts";
import { OUTCOME_CODES } from "../contract/errors.ts";
import type { OutcomeRow } from "../contract/outcome-rows.ts";
import type { BatchRow, StoredEnding, TokenCounts } from "../contract/rows.ts";
import type { BatchRecord, LoggedOutcome, Outcome, OutcomeError, Usage } from "../contract/types.ts";
import { parseLane } from "./encode.ts";
import { storedTokens } from "./stored-code.ts";

/**
 * How the members of a batch end when not by results. Kept as JSON in `batch.disposal`, so that it
 * survives a crash. Of two groups, the first has the places `below` a number that is written before
 * any member goes.
 */
export type Disposal =
  /** All back to the lane, uncharged. */
  | { readonly kind: "requeue"; readonly code: string }
  /** The blamed ones fail with the provider's words; the others go back, uncharged. */
  | { readonly kind: "faults"; readonly lines: readonly LineFault[] }
  /** Back in two groups, the halves of those that are there, each a lane of its own, uncharged. */
  | { readonly kind: "split"; readonly error: OutcomeError; readonly below?: number }
  /** Back in two groups: the first member that is there alone, and the rest. Uncharged. */
  | { readonly kind: "canary"; readonly error: OutcomeError; readonly below?: number }
  /** The only member is the one refused: it fails with the provider's words. */
  | { readonly kind: "refuse"; readonly error: OutcomeError }
  /** All end as cancelled, uncharged: the batch was abandoned. */
  | { readonly kind: "end"; readonly error: OutcomeError };

type Payload = Pick<Outcome, "response" | "error" | "usage">;

export type ErrorEnding = StoredEnding & { readonly code: string; readonly usage: null };

export function ending({ response, error, usage }: Payload): StoredEnding {
  const payload = JSON.stringify({ response, error, usage });
  return { payload, code: error?.code ?? null, usage: usage === null ? null : storedTokens(usage) };
}

/** An ending that no provider answer stands behind. */
export function errorEnding(error: OutcomeError): ErrorEnding {
  return { ...ending({ response: null, error, usage: null }), code: error.code, usage: null };
}

/** Payloads that were stored before these two were counted have neither. */
function usageOf(stored: Usage | null): Usage | null {
  return stored === null
    ? null
    : { ...stored, cachedTokens: stored.cachedTokens ?? 0, reasoningTokens: stored.reasoningTokens ?? 0 };
}

/** The tokens that the provider counted for an ended request; null where it gave none. */
export function outcomeUsage({ payload }: Pick<OutcomeRow, "payload">): TokenCounts | null {
  const { usage } = JSON.parse(payload) as Payload;
  return usage === null ? null : storedTokens(usage);
}

export const CANCELLED: ErrorEnding = errorEnding({
  code: OUTCOME_CODES.cancelled,
  message: "The request was cancelled.",
});

export const EXPIRED: ErrorEnding = errorEnding({
  code: OUTCOME_CODES.expired,
  message: "The deadline passed before the request was sent.",
});

export function loggedOutcome(row: OutcomeRow): LoggedOutcome {
  const { response, error, usage } = JSON.parse(row.payload) as Payload;
  return {
    id: row.id,
    status: row.status,
    response,
    error,
    attempts: row.attempts,
    usage: usageOf(usage),
    batch: row.batchKey,
    cursor: row.cursor,
    recordedAt: row.recordedAt,
    tenant: row.tenant,
    job: row.job,
    metadata: row.metadata === null ? null : (JSON.parse(row.metadata) as Readonly<Record<string, string>>),
  };
}

/** The outcome alone, as `result` gives it. */
export function plainOutcome(row: OutcomeRow): Outcome {
  const { id, status, response, error, attempts, usage, batch } = loggedOutcome(row);
  return { id, status, response, error, attempts, usage, batch };
}

export function batchRecord(row: BatchRow): BatchRecord {
  const { endpoint, model } = parseLane(row.lane);
  return {
    key: row.key,
    account: row.account,
    endpoint,
    model,
    state: row.state,
    requests: row.requests,
    bytes: row.bytes,
    tokens: row.tokens,
    remaining: row.remaining,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    submitAttempt: row.submitAttempt,
    providerBatchId: row.providerBatchId,
    providerState: row.providerState,
    lastError: parseError(row.lastError),
    orphans: row.orphans,
  };
}

function parseError(text: string | null): OutcomeError | null {
  if (text === null) return null;
  const { code, message } = JSON.parse(text) as OutcomeError;
  return { code, message };
}

export function parseDisposal(text: string): Disposal {
  return JSON.parse(text) as Disposal;
}
