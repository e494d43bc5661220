// Reads errors of Google's clients, and the failures of batches. An error's message is the answer's
// JSON: google.rpc.Status in HTTP's form, with the retry delay among its details. Pure.

import type { Failure } from "../../../contract/failures.ts";
import type { JsonObject } from "../../../contract/types.ts";
import { isAccountTrouble } from "../../../format/account-blame.ts";
import { jsonObject, objectOf, readSdkError, type SdkError, text } from "../sdk/sdk-error.ts";

const LONGEST_WAIT_MS = 3_600_000;

export function readGoogleError(error: unknown): SdkError {
  const read = readSdkError(error);
  const rpcStatus = statusIn(read.message);
  if (rpcStatus === null) return read;
  return {
    ...read,
    code: text(rpcStatus.status) ?? read.code,
    message: text(rpcStatus.message) ?? read.message,
    retryAfterMs: read.retryAfterMs ?? waitOf(rpcStatus),
  };
}

const RESOURCE_EXHAUSTED = 8;
/**
 * Codes of google.rpc.Code that blame permissions or billing: PERMISSION_DENIED and
 * UNAUTHENTICATED.
 */
const ACCOUNT: ReadonlySet<number> = new Set([7, 16]);
/**
 * Codes that blame no request: CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, ABORTED, INTERNAL,
 * UNAVAILABLE, DATA_LOSS; and NOT_FOUND for a missing input, which is uploaded again.
 */
const NO_REQUEST: ReadonlySet<number> = new Set([1, 2, 4, 5, 10, 13, 14, 15]);

/**
 * The failure of a whole batch, from its google.rpc.Status; null if there is none. `missesFile`:
 * true for a message about a missing input.
 */
export function failureOf(status: unknown, missesFile: (message: string) => boolean = () => false): Failure | null {
  const { code: number, message: words } = objectOf(status);
  if (typeof number !== "number") return null;
  const [code, message] = [`rpc_${number}`, text(words) ?? "The provider gave no reason."];
  if (missesFile(message)) return { kind: "unknown", code, message };
  if (ACCOUNT.has(number) || isAccountTrouble(code, message)) return { kind: "authOrBilling", code, message };
  if (number === RESOURCE_EXHAUSTED) return { kind: "tokenLimit", code, message, limitTokens: null };
  if (NO_REQUEST.has(number)) return { kind: "unknown", code, message };
  return { kind: "invalidRequest", code, message, lines: [] };
}

function statusIn(message: string): JsonObject | null {
  if (!message.startsWith("{")) return null;
  try {
    return jsonObject(objectOf(JSON.parse(message)).error);
  } catch {
    return null;
  }
}

/** The delay of google.rpc.RetryInfo in ms: seconds such as "30s" or "1.5s", an hour at most. */
function waitOf({ details }: JsonObject): number | null {
  for (const detail of Array.isArray(details) ? details : []) {
    const [, seconds] = /^(\d+(?:\.\d+)?)s$/.exec(text(objectOf(detail).retryDelay) ?? "") ?? [];
    if (seconds !== undefined) return Math.min(LONGEST_WAIT_MS, Number(seconds) * 1000);
  }
  return null;
}
