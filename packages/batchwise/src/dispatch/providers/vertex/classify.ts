// Classifies errors of Vertex AI and of its storage. Pure.

import type { Failure, Operation } from "../../contract/failures.ts";
import { isAccountTrouble } from "../../format/account-blame.ts";
import { failureOf, readGoogleError } from "../shapes/google/google-error.ts";
import { classifyStatus } from "../shapes/sdk/classify-status.ts";

/**
 * Messages of Google's auth library. Its answer has status 400, but the call itself was not sent.
 */
const NO_CREDENTIALS = /invalid_grant|invalid_rapt|Could not (?:load the default credentials|refresh access token)/;

export function classify(error: unknown, operation: Operation): Failure {
  const read = readGoogleError(error);
  const { status, message } = read;
  const code = read.code ?? (status === null ? "no_answer" : `http_${status}`);
  if (NO_CREDENTIALS.test(message)) return { kind: "authOrBilling", code: "no_credentials", message };
  if (status === 429 && isAccountTrouble(code, message)) return { kind: "authOrBilling", code, message };
  // A 429 without a retry delay means too many jobs; too many calls have one.
  if (status === 429 && operation === "create" && read.retryAfterMs === null) {
    return { kind: "tokenLimit", code, message, limitTokens: null };
  }
  return classifyStatus({ ...read, code }, operation);
}

/** The failure of a whole job, from its google.rpc.Status; null if there is none. */
export function toFailure(status: unknown): Failure | null {
  return failureOf(status);
}
