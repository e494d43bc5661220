// What an error of Vertex AI, or of the storage behind it, means for the batch. Pure.

import type { Failure, Operation } from "../../contract/account.ts";
import { readGoogleError } from "../shapes/google-error.ts";
import { classifyStatus, objectOf, text } from "../shapes/sdk-error.ts";

const RESOURCE_EXHAUSTED = 8;
/** Codes of google.rpc.Code that blame rights or money: PERMISSION_DENIED and UNAUTHENTICATED. */
const ACCOUNT: ReadonlySet<number> = new Set([7, 16]);
/**
 * Codes that blame no request: CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, ABORTED, INTERNAL, UNAVAILABLE, DATA_LOSS; and
 * NOT_FOUND, of an input that is gone, which is uploaded again.
 */
const NO_REQUEST: ReadonlySet<number> = new Set([1, 2, 4, 5, 10, 13, 14, 15]);
const BILLING = /billing (?:account )?(?:is |to be )?(?:not|disabled|enabled)|requires billing|SERVICE_DISABLED/i;

export function classify(error: unknown, operation: Operation): Failure {
  const read = readGoogleError(error);
  const { status, message } = read;
  const code = read.code ?? (status === null ? "no_answer" : `http_${status}`);
  if (status !== null && status >= 400 && status < 500 && BILLING.test(message)) {
    return { kind: "authOrBilling", code, message };
  }
  // A create is refused so where too many jobs wait or run. Too many calls are told with a time to wait.
  if (status === 429 && operation === "create" && read.retryAfterMs === null) {
    return { kind: "tokenLimit", code, message, limitTokens: null };
  }
  return classifyStatus({ ...read, code });
}

/** Why a job failed as a whole, as its google.rpc.Status tells; null where it tells nothing. */
export function toFailure(status: unknown): Failure | null {
  const { code: number, message: words } = objectOf(status);
  if (typeof number !== "number") return null;
  const [code, message] = [`rpc_${number}`, text(words) ?? "The provider gave no reason."];
  if (ACCOUNT.has(number) || BILLING.test(message)) return { kind: "authOrBilling", code, message };
  if (number === RESOURCE_EXHAUSTED) return { kind: "tokenLimit", code, message, limitTokens: null };
  if (NO_REQUEST.has(number)) return { kind: "unknown", code, message };
  return { kind: "invalidRequest", code, message, lines: [] };
}
