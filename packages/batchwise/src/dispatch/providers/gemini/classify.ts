// Classifies errors of the Gemini API. Pure.

import type { Failure, Operation } from "../../contract/failures.ts";
import { isAccountTrouble } from "../../format/account-blame.ts";
import { failureOf, readGoogleError } from "../shapes/google/google-error.ts";
import { pendingFile } from "../shapes/pending-file.ts";
import { classifyStatus } from "../shapes/sdk/classify-status.ts";

/** The uploaded file does not exist: files are kept for 48 hours. */
const NO_FILE = /permission to access the File \S+ or it may not exist/i;

export function classify(error: unknown, operation: Operation): Failure {
  const read = readGoogleError(error);
  const { status, message } = read;
  const code = read.code ?? "no_answer";
  const isRefused = status !== null && status >= 400 && status < 500;
  const pending = operation === "create" ? pendingFile(read) : null;
  if (pending !== null) return pending;
  if (isRefused && isAccountTrouble(code, message)) return { kind: "authOrBilling", code, message };
  if (isRefused && NO_FILE.test(message)) return { kind: "definitelyNotCreated", code, message };
  // Gemini refuses a create for enqueued tokens with the same message as for too many calls, but
  // only the latter has a retry delay.
  if (status === 429 && operation === "create" && read.retryAfterMs === null) {
    return { kind: "tokenLimit", code, message, limitTokens: null };
  }
  return classifyStatus(read, operation);
}

/** The failure of a whole batch, from its google.rpc.Status; null if there is none. */
export function toFailure(status: unknown): Failure | null {
  return failureOf(status, (message) => NO_FILE.test(message));
}
