// Decides whether the failures of a batch are the provider's: where nearly every line of it says
// that the provider has no capacity, or failed itself, no request is charged, and the lane waits.
// Pure. A request may be the cause of a 5xx itself, and such requests come back together once the
// others have succeeded: so one that was charged before proves nothing.

import type { ResultLine } from "../../contract/account.ts";
import { hasRun } from "./classify-results.ts";

/**
 * `overload`: 429, 529. `fault`: any other 5xx. `notRun`: its batch ended before. `other`: the line
 * is about its request.
 */
export type FailureCause = "overload" | "fault" | "notRun" | "other";

/** The lines of requests that ran, in one pass over the results of a batch. */
export interface LineTally {
  readonly succeeded: number;
  readonly overload: number;
  /** Of requests that have not been charged a try before. */
  readonly fault: number;
  /** Of requests that have. */
  readonly faultAgain: number;
  readonly other: number;
}

const NEARLY_ALL = 0.9;
/**
 * Requests that fail by a 5xx at their first try, and with them all others, before the provider is
 * to blame.
 */
const LEAST_FAULTS = 3;
/**
 * Pauses in a row after which failures are charged again: with pauses of up to an hour, more than a
 * day.
 */
const MOST_PAUSES = 36;

const OVERLOAD_STATUS: ReadonlySet<number> = new Set([429, 529]);
/** Codes of lines that have no status. */
const OVERLOAD_CODES: ReadonlySet<string> = new Set(["overloaded_error", "rate_limit_error", "rate_limit_exceeded"]);
const FAULT_CODES: ReadonlySet<string> = new Set(["api_error", "internal_error", "server_error", "timeout_error"]);

/** The cause of a line that did not succeed. */
export function causeOf(line: ResultLine): FailureCause {
  if (!hasRun(line)) return "notRun";
  const { response, error } = line;
  const code = error?.code ?? "";
  if (response === null) return OVERLOAD_CODES.has(code) ? "overload" : FAULT_CODES.has(code) ? "fault" : "other";
  if (OVERLOAD_STATUS.has(response.statusCode)) return "overload";
  return response.statusCode >= 500 ? "fault" : "other";
}

/** `pauses`: of the lane for lack of capacity, since one of its requests last succeeded. */
export function isBadHour({ succeeded, overload, fault, faultAgain, other }: LineTally, pauses: number): boolean {
  const failed = overload + fault + faultAgain;
  if (failed === 0 || failed < NEARLY_ALL * (failed + succeeded + other)) return false;
  if (pauses > 0) return pauses < MOST_PAUSES;
  return overload === failed || overload + fault >= LEAST_FAULTS;
}
