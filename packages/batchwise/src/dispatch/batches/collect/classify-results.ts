// Classifies one result line, or a missing one, and decides about its request. A success is final;
// a temporary failure returns to its lane while tries are left; any other fails with the provider's
// message. Every line charges a try, except one that blames the account: no credit, a bad key, a
// missing permission. A message that blames it may be about the request, so it is free only the
// first time. Pure.

import type { ProviderState, ResultLine } from "../../contract/account.ts";
import { OUTCOME_CODES } from "../../contract/errors.ts";
import type { Settlement } from "../../contract/store/outcome-rows.ts";
import type { Appended, StoredEnding } from "../../contract/store/rows.ts";
import type { OutcomeError, OutcomeStatus } from "../../contract/types.ts";
import { accountBlameOf } from "../../format/account-blame.ts";
import { statusError } from "../../format/error-words.ts";
import { ending } from "../../format/payload.ts";
import { backoff } from "../../runtime/backoff.ts";

/** The request that a line belongs to. */
export interface Member {
  readonly ord: number;
  /** Charged tries so far, without this one. */
  readonly attempts: number;
  /** How often it was retried after an outcome, which sets its tries back to 0. */
  readonly generation: number;
  readonly cancelRequested: boolean;
}

export interface RetryRules {
  /** Maximum charged tries. */
  readonly attempts: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** The lane of retries: the ordinary one, also for members of a split batch. */
  readonly lane: string;
}

const RETRYABLE_STATUS: ReadonlySet<number> = new Set([408, 409, 425, 429]);

/** Codes of permanent refusals. Any other code without a response is retried. */
const FINAL_CODES: ReadonlySet<string> = new Set([
  OUTCOME_CODES.answerTooLarge,
  OUTCOME_CODES.unreadable,
  "content_filter",
  "content_policy_violation",
  "context_length_exceeded",
  "invalid_request",
  "invalid_request_error",
  "model_not_found",
  "not_found_error",
  "permission_error",
  "request_too_large",
]);

const NOT_RUN_CODES: ReadonlySet<string> = new Set(["batch_expired", "batch_cancelled"]);

/** True if the line answers the request: any 2xx. */
export function isSuccess(line: ResultLine): boolean {
  const status = line.response?.statusCode ?? 0;
  return status >= 200 && status < 300;
}

/** False if the line says that the batch ended before the request ran. */
export function hasRun({ response, error }: ResultLine): boolean {
  return response !== null || error === null || !NOT_RUN_CODES.has(error.code);
}

function isRetryable(line: ResultLine): boolean {
  if (line.response !== null) {
    const { statusCode } = line.response;
    return statusCode >= 500 || RETRYABLE_STATUS.has(statusCode);
  }
  return line.error === null || !FINAL_CODES.has(line.error.code);
}

/**
 * Decides about a successful line, without facts of the request. It fails if the answer cannot be
 * stored.
 */
export function classifySuccess(ord: number, { response, usage }: ResultLine): Settlement {
  try {
    return { ord, kind: "final", status: "succeeded", ...ending({ response, error: null, usage }), charged: true };
  } catch (thrown) {
    const message = `The provider's answer cannot be written as JSON: ${String((thrown as Error)?.message ?? thrown)}.`;
    const error = { code: OUTCOME_CODES.unreadable, message };
    return { ord, kind: "final", status: "failed", ...ending({ response: null, error, usage }), charged: true };
  }
}

/** Decides about an unsuccessful line. */
export function classifyFailure(member: Member, line: ResultLine, rules: RetryRules, now: number): Settlement {
  const { ord } = member;
  const error = wordsOf(line);
  if (accountBlameOf(line) === "code") {
    return { ord, kind: "requeue", code: error.code, charged: false, notBefore: now, lane: rules.lane };
  }
  // A request with a pending cancel is requeued too: the store then ends it as cancelled.
  const hasTries = member.attempts + 1 < rules.attempts;
  if (member.cancelRequested || (hasTries && isRetryable(line))) {
    const notBefore = now + backoff(rules.backoffMs, rules.maxBackoffMs, member.attempts + 1);
    return { ord, kind: "requeue", code: error.code, charged: true, notBefore, lane: rules.lane };
  }
  return { ord, kind: "final", status: statusOf(error), ...failedEnding(line, error), charged: true };
}

/** A success whose answer has been checked. */
export interface CheckedLine {
  readonly line: ResultLine;
  readonly member: Member;
  /** Why its check refused it; null if it passed. */
  readonly why: string | null;
  /** Another try may end otherwise. */
  readonly mayPass: boolean;
  /** With what it goes again; null: as it is. */
  readonly appended: Appended | null;
}

/**
 * The decision for a checked answer. A refused one is another charged try where that may pass; the
 * outcome of the last one has the answer and the reason.
 */
export function classifyChecked(checked: CheckedLine, rules: RetryRules, now: number): Settlement {
  const { line, member, why, mayPass, appended } = checked;
  const { ord } = member;
  if (why === null) return classifySuccess(ord, line);
  const error = { code: OUTCOME_CODES.invalidOutput, message: why };
  const hasTries = mayPass && member.attempts + 1 < rules.attempts;
  if (!member.cancelRequested && !hasTries) {
    return { ord, kind: "final", status: "failed", ...failedEnding(line, error), charged: true };
  }
  const notBefore = now + backoff(rules.backoffMs, rules.maxBackoffMs, member.attempts + 1);
  const { code } = error;
  const { lane } = rules;
  const requeue: Settlement = { ord, kind: "requeue", code, charged: true, notBefore, lane, usage: line.usage };
  return appended === null ? requeue : { ...requeue, appended };
}

/** Includes the provider's answer if it can be stored. */
function failedEnding({ response, usage }: ResultLine, error: OutcomeError): StoredEnding {
  try {
    return ending({ response, error, usage });
  } catch {
    return ending({ response: null, error, usage });
  }
}

/**
 * Decides about a failure whose message blames the account. `own`: the decision if the request is
 * to blame. `isRepeated`: the request was requeued with this code before.
 */
export function classifyWords(
  own: Settlement,
  { attempts, cancelRequested }: Member,
  isRepeated: boolean,
  rules: RetryRules,
  notBefore: number,
): Settlement {
  if (isRepeated && (cancelRequested || attempts + 1 >= rules.attempts)) return own;
  return { ...uncharged(own, rules.lane, notBefore), charged: isRepeated };
}

/** Stands for a missing line, once a batch has ended in `state`. */
export function absentLine(state: ProviderState): ResultLine {
  const error = ABSENT[state] ?? {
    code: OUTCOME_CODES.missing,
    message: "The batch ended without a result for this request.",
  };
  return { customId: "", response: null, error, usage: null };
}

const ABSENT: Partial<Record<ProviderState, OutcomeError>> = {
  expired: { code: "batch_expired", message: "The batch expired before this request was run." },
  cancelled: { code: "batch_cancelled", message: "The batch was cancelled before this request was run." },
  failed: { code: "batch_failed", message: "The batch failed before this request was run." },
};

function statusOf(error: OutcomeError): OutcomeStatus {
  return error.code === "batch_expired" ? "expired" : "failed";
}

/** The provider's message of an unsuccessful line. */
export function wordsOf(line: ResultLine): OutcomeError {
  return line.error ?? errorOf(line);
}

/** Requeues without a charge, because no request is to blame. */
export function uncharged({ ord, code }: Settlement, lane: string, now: number): Settlement {
  return { ord, kind: "requeue", code: code ?? "", charged: false, notBefore: now, lane };
}

/** The error inside the provider's answer, if there is none beside it. */
function errorOf(line: ResultLine): OutcomeError {
  if (line.response === null) return { code: OUTCOME_CODES.missing, message: "The provider gave no reason." };
  return statusError(line.response.statusCode, line.response.body);
}
