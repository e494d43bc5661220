// Classifies errors of an OpenAI-compatible service: thrown by a call, or found in a batch that
// failed as a whole, with the token limit that its message names. Codes take precedence, because
// one status has several meanings. Pure.

import type { Failure, LineFault, Operation } from "../../contract/failures.ts";
import { isAccountTrouble } from "../../format/account-blame.ts";
import { pendingFile, pendingIn } from "../shapes/pending-file.ts";
import { classifyStatus, isQuota } from "../shapes/sdk/classify-status.ts";
import { objectOf, readSdkError, text } from "../shapes/sdk/sdk-error.ts";
import { ExtrasError } from "./extras.ts";

const TOKEN_LIMIT: ReadonlySet<string> = new Set(["token_limit_exceeded", "enqueued_token_limit_exceeded"]);
const OF_THE_PROVIDER: ReadonlySet<string> = new Set(["internal_error", "server_error", "internal_server_error"]);

export function classify(error: unknown, operation: Operation): Failure {
  if (error instanceof ExtrasError) {
    return { kind: "definitelyNotCreated", code: "extras_failed", message: error.message };
  }
  const read = readSdkError(error);
  const pending = operation === "create" ? pendingFile(read) : null;
  return pending ?? tokenLimitOf(read.code ?? read.type, read.message) ?? classifyStatus(read, operation);
}

/**
 * `errors` of a failed batch: `{ data: [{ code, message, line }] }`, or a text at some services.
 */
export function classifyBatchErrors(errors: unknown): Failure {
  const { data } = objectOf(errors);
  const rows = (Array.isArray(data) ? data : []).map(objectOf);
  const first = rows[0];
  const code = text(first?.code) ?? "batch_failed";
  const message = text(first?.message) ?? text(errors) ?? "The provider gave no reason.";
  const limit = tokenLimitOf(code, message);
  if (limit !== null) return limit;
  const pending = pendingIn(code, message);
  if (pending !== null) return pending;
  if (isAccountTrouble(code, message) || isQuota(code, message)) return { kind: "authOrBilling", code, message };
  const lines = faultsOf(rows);
  if (first === undefined || (lines.length === 0 && OF_THE_PROVIDER.has(code)))
    return { kind: "unknown", code, message };
  return { kind: "invalidRequest", code, message, lines };
}

/** The first fault of each line. A fault without a line blames none. */
function faultsOf(rows: readonly { readonly [key: string]: unknown }[]): LineFault[] {
  const faults = new Map<number, LineFault>();
  for (const { line, code, message } of rows) {
    if (typeof line !== "number" || line < 1 || faults.has(line)) continue;
    faults.set(line, { line, code: text(code) ?? "invalid_request", message: text(message) ?? "Refused." });
  }
  return [...faults.values()];
}

function tokenLimitOf(code: string | null, message: string): Failure | null {
  if (!TOKEN_LIMIT.has(code ?? "") && !/enqueued token limit/i.test(message)) return null;
  return { kind: "tokenLimit", code: code ?? "token_limit_exceeded", message, limitTokens: tokenFigureIn(message) };
}

/** Thousands separated by a comma, dot, underscore, apostrophe or a space of any width. */
const GROUPED = "\\d{1,3}(?:[,._'’\\u0020\\u00a0\\u2009\\u202f]\\d{3})+";
const UNIT = "(?:\\s*(k|m|b|thousand|million|billion)\\b)?";
const LIMIT = new RegExp(
  `\\blimit(?:ed)?(?:\\s+(?:is|of|to))?[:=]?\\s*(${GROUPED}|\\d+(?:[.,]\\d+)?)${UNIT}` +
    "\\s+(?:enqueued\\s+|queued\\s+|input\\s+|prompt\\s+|batch\\s+)*tokens?\\b",
  "i",
);

const UNITS: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  m: 1e6,
  million: 1e6,
  b: 1e9,
  billion: 1e9,
};

/**
 * The limit of enqueued tokens in a refusal's message, such as "Limit: 90,000 enqueued tokens".
 * null for none, or a number that may not be of tokens: a wrong one would block all requests of a
 * model.
 */
export function tokenFigureIn(message: string): number | null {
  const [, digits = "", unit] = LIMIT.exec(message) ?? [];
  // "1.500 million" is one and a half; "1.500" without a unit is fifteen hundred.
  const isDecimal = unit !== undefined && /^\d+[.,]\d+$/.test(digits);
  const number = Number(isDecimal ? digits.replace(",", ".") : digits.replace(/\D/g, ""));
  const figure = Math.round(number * (unit === undefined ? 1 : (UNITS[unit.toLowerCase()] as number)));
  const isPart = unit === undefined && /^\d+[.,]\d+$/.test(digits) && !new RegExp(`^${GROUPED}$`).test(digits);
  return !isPart && Number.isSafeInteger(figure) && figure > 0 ? figure : null;
}
