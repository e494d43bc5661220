// The texts that the dispatcher keeps in a store: outcome payloads, errors, disposals, and the rows
// as callers see them. The store never parses them. Pure.

import { OUTCOME_CODES } from "../contract/errors.ts";
import type { LineFault } from "../contract/failures.ts";
import type { OutcomeRow } from "../contract/store/outcome-rows.ts";
import type { BatchRow, StoredEnding, TokenCounts } from "../contract/store/rows.ts";
import type { BatchRecord, LoggedOutcome, Outcome, OutcomeError, Usage } from "../contract/types.ts";
import { parseLane } from "./encode.ts";
import { storedTokens } from "./stored-code.ts";

/**
 * How a batch's members end without results. Kept as JSON in `batch.disposal`, so that it survives
 * a crash. If members form two groups, the first has the ordinals `below` a number that is written
 * before any member moves.
 */
export type Disposal =
  /** All return to the lane, uncharged. */
  | { readonly kind: "requeue"; readonly code: string }
  /** Blamed members fail with the provider's message; the others return, uncharged. */
  | { readonly kind: "faults"; readonly lines: readonly LineFault[] }
  /** Members return as two halves, each in a lane of its own, uncharged. */
  | { readonly kind: "split"; readonly error: OutcomeError; readonly below?: number }
  /** The first member returns in one lane and the rest in another, uncharged. */
  | { readonly kind: "canary"; readonly error: OutcomeError; readonly below?: number }
  /** The only member was refused: it fails with the provider's message. */
  | { readonly kind: "refuse"; readonly error: OutcomeError }
  /** All end as cancelled, uncharged: the batch was abandoned. */
  | { readonly kind: "end"; readonly error: OutcomeError };

type Payload = Pick<Outcome, "response" | "error" | "usage">;

export type ErrorEnding = StoredEnding & { readonly code: string; readonly usage: null };

export function ending({ response, error, usage }: Payload): StoredEnding {
  const payload = JSON.stringify({ response, error, usage });
  return { payload, code: error?.code ?? null, usage: usage === null ? null : storedTokens(usage) };
}

/** An ending without a provider's answer. */
export function errorEnding(error: OutcomeError): ErrorEnding {
  return { ...ending({ response: null, error, usage: null }), code: error.code, usage: null };
}

/** Adds counts that older payloads lack. */
function usageOf(stored: Usage | null): Usage | null {
  return stored === null
    ? null
    : { ...stored, cachedTokens: stored.cachedTokens ?? 0, reasoningTokens: stored.reasoningTokens ?? 0 };
}

/** The provider's token counts of an ended request; null if it gave none. */
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

/** The outcome as `result` returns it. */
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
    lastError: errorOf(row),
    orphans: row.orphans,
  };
}

/** The last failure of a batch, in words for people. */
export function errorOf({ lastError }: Pick<BatchRow, "lastError">): OutcomeError | null {
  if (lastError === null) return null;
  const { code, message } = JSON.parse(lastError) as OutcomeError;
  return { code, message };
}

export function parseDisposal(text: string): Disposal {
  return JSON.parse(text) as Disposal;
}
