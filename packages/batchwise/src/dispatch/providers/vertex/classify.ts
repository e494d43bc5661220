// What an error of Vertex AI, or of the storage behind it, means for the batch. Pure.

import type { Failure, Operation } from "../../contract/account.ts";
import { isAccountTrouble } from "../../format/account-blame.ts";
import { classifyStatus } from "../shapes/classify-status.ts";
import { failureOf, readGoogleError } from "../shapes/google-error.ts";

/** Of Google's auth library, whose answer has a status of 400: the call itself was not sent. */
const NO_CREDENTIALS = /invalid_grant|invalid_rapt|Could not (?:load the default credentials|refresh access token)/;

export function classify(error: unknown, operation: Operation): Failure {
  const read = readGoogleError(error);
  const { status, message } = read;
  const code = read.code ?? (status === null ? "no_answer" : `http_${status}`);
  if (NO_CREDENTIALS.test(message)) return { kind: "authOrBilling", code: "no_credentials", message };
  if (status === 429 && isAccountTrouble(code, message)) return { kind: "authOrBilling", code, message };
  // A create is refused so where too many jobs wait or run. Too many calls are told with a time to
  // wait.
  if (status === 429 && operation === "create" && read.retryAfterMs === null) {
    return { kind: "tokenLimit", code, message, limitTokens: null };
  }
  return classifyStatus({ ...read, code }, operation);
}

/** Why a job failed as a whole, as its google.rpc.Status tells; null where it tells nothing. */
export function toFailure(status: unknown): Failure | null {
  return failureOf(status);
}
