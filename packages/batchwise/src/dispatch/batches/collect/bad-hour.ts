// Decides whether the provider caused the failures of a batch. If nearly every line says that it
// has no capacity or failed itself, no request is charged, and the lane waits. A request may cause
// a 5xx itself, and such requests meet again after the others have succeeded, so one that was
// charged before proves nothing. Pure.

import type { ResultLine } from "../../contract/account.ts";
import { hasRun } from "./classify-results.ts";

/**
 * `overload`: 429, 529. `fault`: any other 5xx. `notRun`: its batch ended first. `other`: the
 * request is to blame.
 */
export type FailureCause = "overload" | "fault" | "notRun" | "other";

/** Lines of requests that ran, in one pass over a batch's results. */
export interface LineTally {
  readonly succeeded: number;
  readonly overload: number;
  /** Faults of requests without an earlier charged try. */
  readonly fault: number;
  /** Faults of requests with one. */
  readonly faultAgain: number;
  readonly other: number;
}

const NEARLY_ALL = 0.9;
/**
 * Minimum number of requests that fail with a 5xx at their first try, along with all others, before
 * the provider is to blame.
 */
const LEAST_FAULTS = 3;
/**
 * Consecutive pauses after which failures are charged again: over a day, with pauses up to an hour.
 */
const MOST_PAUSES = 36;

const OVERLOAD_STATUS: ReadonlySet<number> = new Set([429, 529]);
/** Codes of overload in lines without a status. */
const OVERLOAD_CODES: ReadonlySet<string> = new Set(["overloaded_error", "rate_limit_error", "rate_limit_exceeded"]);
const FAULT_CODES: ReadonlySet<string> = new Set(["api_error", "internal_error", "server_error", "timeout_error"]);

/** The cause of an unsuccessful line. */
export function causeOf(line: ResultLine): FailureCause {
  if (!hasRun(line)) return "notRun";
  const { response, error } = line;
  const code = error?.code ?? "";
  if (response === null) return OVERLOAD_CODES.has(code) ? "overload" : FAULT_CODES.has(code) ? "fault" : "other";
  if (OVERLOAD_STATUS.has(response.statusCode)) return "overload";
  return response.statusCode >= 500 ? "fault" : "other";
}

/** `pauses`: the lane's pauses for lack of capacity since one of its requests last succeeded. */
export function isBadHour({ succeeded, overload, fault, faultAgain, other }: LineTally, pauses: number): boolean {
  const failed = overload + fault + faultAgain;
  if (failed === 0 || failed < NEARLY_ALL * (failed + succeeded + other)) return false;
  if (pauses > 0) return pauses < MOST_PAUSES;
  return overload === failed || overload + fault >= LEAST_FAULTS;
}
