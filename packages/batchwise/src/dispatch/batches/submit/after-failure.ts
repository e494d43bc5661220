// Decides what happens to a batch after an upload or create that failed, or a provider batch that
// failed as a whole. Pure: takes the batch, the provider's answer and the time, returns a Plan.
// batches/apply-plan.ts writes it.

import { LEARNED_FOR_MS, learnedLimit } from "../../accounts/learned-limit.ts";
import { isClosedByAnswer } from "../../accounts/outage.ts";
import type { Failure, LineFault } from "../../contract/failures.ts";
import type { BatchRow } from "../../contract/store/rows.ts";
import type { OutcomeError } from "../../contract/types.ts";
import { errorOf } from "../../format/payload.ts";
import { backoff } from "../../runtime/backoff.ts";
import type { BatchCase } from "../batch-case.ts";
import { nextLookAt } from "../life-cycle.ts";
import { partOf } from "../parts.ts";
import { type Plan, plan } from "../plan.ts";
import { afterPendingFile } from "./pending-file.ts";
import { afterTries, pauseAfter, TRIES_ALONE, triedOnceMore } from "./retry-policy.ts";
import { afterWholeFailure, refusedOnceMore } from "./whole-failure.ts";

const MINUTE = 60_000;
const RETRY_FIRST_MS = 5_000;
const RETRY_MOST_MS = 5 * MINUTE;
const CAPACITY_FIRST_MS = 5 * MINUTE;
const CAPACITY_MOST_MS = 60 * MINUTE;
/**
 * Refusals in a row of the ledger, and the age of a batch, from which on smaller ones are tried.
 */
const CAPACITY_STRIKES = 6;
const CAPACITY_AGE_MS = 120 * MINUTE;
/** Pause of an account that is out of credit or has a bad key. */
export const PAUSE_MS: number = 15 * MINUTE;
/**
 * Failures about rights or money after which an accepted batch is treated as refused as a whole,
 * because such messages can be wrong. A call refused with 401, 402 or 403 always blames the
 * account.
 */
const DENIALS = 2;

/**
 * Decides after a failed upload or create. For uploads `unknown` is harmless: a file runs nothing.
 * The evidence matters only if the batch is refused as a whole.
 */
export function afterSubmitFailure(at: BatchCase, failure: Failure, operation: "upload" | "create"): Plan {
  const words = wordsOf(failure);
  if (failure.kind === "unknown" && operation === "create") return afterLostCreate(at, words);
  if (isFilePending(failure)) return afterPendingFile(at.batch, words, at.now);
  if (failure.kind === "unknown" || failure.kind === "definitelyNotCreated") {
    return afterFailedAttempt(at, words, failure.kind !== "unknown");
  }
  return afterKnownFailure(at, failure);
}

function isFilePending(failure: Failure): boolean {
  return failure.kind === "definitelyNotCreated" && failure.filePending === true;
}

/**
 * The batch may run: look for it, or, if an idempotency token makes that safe, send it again after
 * a pause.
 */
function afterLostCreate({ batch, account, now }: BatchCase, words: OutcomeError): Plan {
  const tried = triedOnceMore(batch, batch.submitStartedAt ?? now);
  const changes = { lastError: words, figures: tried };
  if (account.capabilities.tag !== "idempotencyToken") {
    return plan("unknown", nextLookAt({ ...batch, unknownSince: now }, account, now), changes);
  }
  // No listing can prove that none of these creates runs, so an operator decides, as about a batch
  // of one request.
  const isOver = tried.tries >= TRIES_ALONE;
  return plan(isOver ? "quarantined" : "unknown", now + pauseAfter(tried.tries), changes);
}

/** Nothing runs, and the batch is not to blame. The uploaded file may be missing. */
function afterFailedAttempt(at: BatchCase, words: OutcomeError, dropFile: boolean): Plan {
  const { batch, now } = at;
  const tried = triedOnceMore(batch, batch.submitStartedAt ?? now);
  const changes = { lastError: words, figures: tried };
  const decided = afterTries(at, tried.tries, words);
  if (decided !== null) return { ...decided, ...changes };
  return plan("sealed", now + pauseAfter(tried.tries), { ...changes, dropFile });
}

/**
 * After a complete listing, begun after the grace, that does not show the batch. `null`: send it
 * again.
 */
export function afterAbsence(at: BatchCase): Plan | null {
  const { batch, account, now } = at;
  const decided = afterTries(at, batch.tries, absenceOf(batch));
  if (decided !== null) return decided;
  const nextAt = (batch.submitStartedAt ?? batch.createdAt) + pauseAfter(batch.tries);
  if (nextAt <= now) return null;
  // Without a tag an account has one unresolved create at a time: `sealed` lets others go. With
  // one, look again.
  return plan(account.capabilities.tag === "none" ? "sealed" : "unknown", nextAt, { lastError: undefined });
}

/**
 * The error of members that end without a batch at the provider. Quotes the last error, for people,
 * but not that of a failed step: it is no answer of the provider.
 */
function absenceOf(batch: BatchRow): OutcomeError {
  const last = batch.failedSteps > 0 ? null : errorOf(batch);
  const quoted = last === null ? "" : ` Last error: ${last.code}: ${last.message}`;
  return { code: "not_created", message: `The provider has no such batch.${quoted}` };
}

/**
 * After the provider accepted the batch and then failed it as a whole, with no results: its
 * provider batch has ended.
 */
export function afterBatchFailure(at: BatchCase, failure: Failure): Plan {
  const { batch, now } = at;
  const isDenied = failure.kind === "authOrBilling";
  // For part of a split batch the first such failure counts.
  if (failure.kind === "unknown" || (isDenied && (batch.wholeFailures >= DENIALS || partOf(batch) !== null))) {
    return { ...afterWholeFailure(at, wordsOf(failure), true), forget: true };
  }
  const denied = isDenied ? { figures: refusedOnceMore(batch, now) } : {};
  return { ...afterKnownFailure(at, failure), ...denied, forget: true };
}

function wordsOf({ code, message }: Failure): OutcomeError {
  return { code, message };
}

/**
 * True if the failure blames the whole batch and no line, or may do so. The batch was either
 * accepted, or not sent.
 */
export function isWholeFailure(batch: BatchRow, failure: Failure): boolean {
  if (failure.kind === "authOrBilling") return batch.providerBatchId !== null;
  if (failure.kind !== "invalidRequest") return failure.kind === "unknown";
  return linesOf(batch, failure).length === 0;
}

/** The blamed lines that the batch has. */
function linesOf(batch: BatchRow, { lines }: Extract<Failure, { kind: "invalidRequest" }>): readonly LineFault[] {
  return lines.filter(({ line }) => line >= 1 && line <= batch.requests);
}

function afterKnownFailure(at: BatchCase, failure: Exclude<Failure, { kind: "unknown" }>): Plan {
  const { batch, now } = at;
  const lastError = wordsOf(failure);
  switch (failure.kind) {
    case "definitelyNotCreated":
      if (isFilePending(failure)) return afterPendingFile(batch, failure, now);
      return plan("sealed", now + retryDelay(batch), { lastError, dropFile: true });
    case "rateLimited":
      return plan("sealed", now + (failure.retryAfterMs ?? retryDelay(batch)), { lastError });
    case "authOrBilling":
      return plan("sealed", now + PAUSE_MS, { lastError, pauseAccountUntil: now + PAUSE_MS, isKeyRefused: true });
    case "tokenLimit":
      return afterTokenLimit(at, failure);
    case "invalidRequest": {
      const lines = linesOf(batch, failure);
      if (lines.length === 0) return afterWholeFailure(at, lastError, false);
      return plan("collecting", now, { lastError, disposal: { kind: "faults", lines } });
    }
  }
}

/**
 * Keeps its members and waits, unless it alone is over the limit: then its members form smaller
 * batches.
 */
function afterTokenLimit(at: BatchCase, failure: Extract<Failure, { kind: "tokenLimit" }>): Plan {
  const { batch, ledger, now } = at;
  const strikes = (ledger?.strikes ?? 0) + 1;
  const blockedUntil = now + backoff(CAPACITY_FIRST_MS, CAPACITY_MOST_MS, strikes);
  const { limitTokens: learnedTokens } = failure;
  // The pause of a refused key stays.
  const pause = isClosedByAnswer(ledger, now) ? null : { strikes, blockedUntil };
  const common = { lastError: wordsOf(failure), ledger: { learnedTokens, pause } };
  const isTooLarge = batch.tokens > (failure.limitTokens ?? learnedLimit(ledger, now));
  if (isTooLarge && batch.requests === 1) {
    // The refusal tells nothing about other batches, so the ledger is not paused. The batch
    // releases its reservation and waits a day, as long as a learned limit is valid.
    const learned = { learnedTokens, pause: null };
    return plan("waiting_capacity", now + LEARNED_FOR_MS, { ...common, ledger: learned, figures: { releaseAt: now } });
  }
  if (isTooLarge) {
    return plan("collecting", now, { ...common, disposal: { kind: "requeue", code: failure.code } });
  }
  // The limit may be unknown, or the provider may count more tokens than we do. Such a batch would
  // wait for ever, so it is split. A single request waits: other clients may use the limit up, and
  // the limit may be raised.
  const isOld = now - batch.createdAt >= CAPACITY_AGE_MS;
  if (batch.requests > 1 && strikes >= CAPACITY_STRIKES && isOld) {
    return plan("collecting", now, { ...common, disposal: { kind: "split", error: common.lastError } });
  }
  return plan("waiting_capacity", blockedUntil, common);
}

function retryDelay(batch: BatchRow): number {
  return backoff(RETRY_FIRST_MS, RETRY_MOST_MS, batch.submitAttempt);
}
