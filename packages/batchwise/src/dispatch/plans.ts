// What becomes of a batch after a create that failed, a poll, or a provider batch that failed as a whole. Pure: a batch,
// what the provider said and the time go in, a Plan comes out; the dispatcher writes it as one `transition`.

import { parseLane } from "./encode.ts";
import { nextLookAt, type StepAccount } from "./life-cycle.ts";
import type { Failure, LineFault, ProviderBatch } from "./provider.ts";
import type { BatchRow, LedgerRow } from "./rows.ts";
import type { BatchState, OutcomeError } from "./types.ts";

/** How the members of a batch end when not by results. Kept as JSON in `batch.disposal`, so that it survives a crash. */
export type Disposal =
  /** All back to the lane, uncharged. */
  | { readonly kind: "requeue"; readonly code: string }
  /** The blamed ones fail with the provider's words; the others go back, uncharged. */
  | { readonly kind: "faults"; readonly lines: readonly LineFault[] }
  /** Back in two groups by `ord` (below half of `requests`, and the rest), each a lane of its own, uncharged. */
  | { readonly kind: "split"; readonly error: OutcomeError }
  /** The only member is the poison: it fails with the provider's words. */
  | { readonly kind: "refuse"; readonly error: OutcomeError };

export interface Plan {
  readonly state: BatchState;
  readonly nextAt: number;
  readonly pollMs: number;
  readonly wholeFailures: number;
  readonly disposal: Disposal | null;
  readonly lastError: OutcomeError | null;
  /** The provider's batch is over and is not the one of record any more: clear its id, add it as orphan `ended`. */
  readonly forget: boolean;
  /** The uploaded file may be the fault: clear its id, so that the next attempt uploads anew. */
  readonly dropFile: boolean;
  /** Write on the batch's ledger. */
  readonly ledger: {
    readonly learnedTokens: number | null;
    readonly strikes: number;
    readonly blockedUntil: number;
  } | null;
  /** Write on the account's own ledger: nothing is sealed or submitted there before. */
  readonly pauseAccountUntil: number | null;
}

const MINUTE = 60_000;
const RETRY_FIRST_MS = 5_000;
const RETRY_MOST_MS = 5 * MINUTE;
const CAPACITY_FIRST_MS = 5 * MINUTE;
const CAPACITY_MOST_MS = 80 * MINUTE;
const CAPACITY_TRIES = 6;
const CAPACITY_TRIES_ALONE = 12;
const PAUSE_MS = 15 * MINUTE;
const POLL_GROWTH = 1.5;
const POLL_MOST_MS = 5 * MINUTE;
/** From this share of settled members on, polls are as close as at the start. */
const NEARLY_DONE = 0.9;

/** Doubling waits: `first` for count 1, never over `most`. */
export function backoff(first: number, most: number, count: number): number {
  return Math.min(most, first * 2 ** Math.max(0, Math.min(count, 40) - 1));
}

/** After a poll that reached the provider. `null` for a batch that the provider does not know (any more). */
export function afterPoll(
  batch: BatchRow,
  seen: ProviderBatch | null,
  account: StepAccount & { readonly pollMs: number },
  ledger: LedgerRow | null,
  now: number,
): Plan {
  if (seen === null) return afterVanished(batch, account, now);
  if (seen.state === "failed" && seen.resultRefs.length === 0) {
    const failure = seen.failure ?? { kind: "unknown", code: "batch_failed", message: "The provider gave no reason." };
    return afterBatchFailure(batch, failure, ledger, now);
  }
  if (seen.state === "done" || seen.state === "cancelled" || seen.state === "expired" || seen.state === "failed") {
    return plan(batch, "collecting", now, {});
  }
  const nearly = seen.total !== null && seen.settled !== null && seen.settled >= NEARLY_DONE * seen.total;
  const grown = batch.pollMs === 0 ? account.pollMs : Math.min(batch.pollMs * POLL_GROWTH, POLL_MOST_MS);
  const pollMs = nearly ? account.pollMs : Math.max(account.pollMs, grown);
  return plan(batch, seen.state === "validating" ? batch.state : "running", now + pollMs, { pollMs });
}

/** A fresh batch may not be readable yet; one that is gone later may have run: an operator decides, we never re-send. */
function afterVanished(batch: BatchRow, account: StepAccount & { readonly pollMs: number }, now: number): Plan {
  const lastError = { code: "batch_vanished", message: "The provider does not know the batch any more." };
  const fresh = now < (batch.submitStartedAt ?? batch.createdAt) + account.requestTimeoutMs + account.reconcileGraceMs;
  if (fresh) return plan(batch, batch.state, now + account.pollMs, { lastError });
  return plan(batch, "quarantined", now, { lastError });
}

/** After an upload or a create that did not succeed. For uploads `unknown` is harmless: nothing runs from a file. */
export function afterSubmitFailure(
  batch: BatchRow,
  failure: Failure,
  operation: "upload" | "create",
  account: StepAccount,
  ledger: LedgerRow | null,
  now: number,
): Plan {
  const lastError = { code: failure.code, message: failure.message };
  if (failure.kind !== "unknown") return afterKnownFailure(batch, failure, ledger, now, false);
  if (operation === "upload") return plan(batch, "sealed", now + retryDelay(batch), { lastError });
  const since = { ...batch, unknownSince: now };
  return plan(batch, "unknown", nextLookAt(since, account, now), { lastError });
}

/** After the provider accepted the batch and then failed it as a whole, with no results. */
export function afterBatchFailure(batch: BatchRow, failure: Failure, ledger: LedgerRow | null, now: number): Plan {
  if (failure.kind === "unknown") {
    return afterWholeFailure(batch, { code: failure.code, message: failure.message }, now, true);
  }
  return afterKnownFailure(batch, failure, ledger, now, true);
}

function afterKnownFailure(
  batch: BatchRow,
  failure: Exclude<Failure, { kind: "unknown" }>,
  ledger: LedgerRow | null,
  now: number,
  forget: boolean,
): Plan {
  const lastError = { code: failure.code, message: failure.message };
  switch (failure.kind) {
    case "definitelyNotCreated":
      // The file may be what is not there.
      return plan(batch, "sealed", now + retryDelay(batch), { lastError, forget, dropFile: true });
    case "rateLimited":
      return plan(batch, "sealed", now + (failure.retryAfterMs ?? retryDelay(batch)), { lastError, forget });
    case "authOrBilling":
      return plan(batch, "sealed", now + PAUSE_MS, { lastError, forget, pauseAccountUntil: now + PAUSE_MS });
    case "tokenLimit":
      return afterTokenLimit(batch, failure, ledger, now, forget);
    case "invalidRequest": {
      const lines = failure.lines.filter(({ line }) => line >= 1 && line <= batch.requests);
      if (lines.length === 0) return afterWholeFailure(batch, lastError, now, forget);
      return plan(batch, "collecting", now, { lastError, forget, disposal: { kind: "faults", lines } });
    }
  }
}

/** Keeps its members and waits, unless it alone is over the limit: then its members form smaller batches. */
function afterTokenLimit(
  batch: BatchRow,
  failure: Extract<Failure, { kind: "tokenLimit" }>,
  ledger: LedgerRow | null,
  now: number,
  forget: boolean,
): Plan {
  const strikes = (ledger?.strikes ?? 0) + 1;
  const blockedUntil = now + backoff(CAPACITY_FIRST_MS, CAPACITY_MOST_MS, strikes);
  const known = ledger?.learnedTokens ?? null;
  const told = failure.limitTokens;
  const learnedTokens = told === null ? known : Math.min(known ?? told, told);
  const common = {
    lastError: { code: failure.code, message: failure.message },
    forget,
    ledger: { learnedTokens, strikes, blockedUntil },
  };
  if (learnedTokens !== null && batch.tokens > learnedTokens) {
    return plan(batch, "collecting", now, { ...common, disposal: { kind: "requeue", code: failure.code } });
  }
  // A limit that nobody names and nothing fits under would hold the batch for ever: try smaller, then give up.
  const one = batch.requests === 1;
  if (batch.submitAttempt >= (one ? CAPACITY_TRIES_ALONE : CAPACITY_TRIES)) {
    const disposal: Disposal = { kind: one ? "refuse" : "split", error: common.lastError };
    return plan(batch, "collecting", now, { ...common, disposal });
  }
  return plan(batch, "waiting_capacity", blockedUntil, common);
}

/** Once more as it is, then in halves; a part of a split batch is halved at once, and a single request is refused. */
function afterWholeFailure(batch: BatchRow, error: OutcomeError, now: number, forget: boolean): Plan {
  const wholeFailures = batch.wholeFailures + 1;
  const common = { lastError: error, forget, wholeFailures, dropFile: true };
  const suspected = wholeFailures >= 2 || parseLane(batch.lane).group !== "";
  if (!suspected) return plan(batch, "sealed", now + retryDelay(batch), common);
  const kind = batch.requests === 1 ? "refuse" : "split";
  return plan(batch, "collecting", now, { ...common, disposal: { kind, error } });
}

function retryDelay(batch: BatchRow): number {
  return backoff(RETRY_FIRST_MS, RETRY_MOST_MS, batch.submitAttempt);
}

function plan(batch: BatchRow, state: BatchState, nextAt: number, changes: Partial<Plan>): Plan {
  return {
    state,
    nextAt,
    pollMs: batch.pollMs,
    wholeFailures: batch.wholeFailures,
    disposal: null,
    lastError: null,
    forget: false,
    dropFile: false,
    ledger: null,
    pauseAccountUntil: null,
    ...changes,
  };
}

/** The lane into which one half of a split batch goes: of its own group, so that the halves never meet again. */
export function splitGroup(batch: BatchRow, ord: number): string {
  return `${batch.key}.${ord < Math.ceil(batch.requests / 2) ? "a" : "b"}`;
}
