// What an error of the Gemini API means for the batch. Pure.

import type { Failure, Operation } from "../../contract/account.ts";
import { isAccountTrouble } from "../../format/account-blame.ts";
import { classifyStatus } from "../shapes/classify-status.ts";
import { failureOf, readGoogleError } from "../shapes/google-error.ts";
import { pendingFile } from "../shapes/pending-file.ts";

/** The uploaded file, which is kept for 48 hours, is gone. */
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
  // A create is refused for what is enqueued with the same words as for too many calls: only these
  // say how long to wait.
  if (status === 429 && operation === "create" && read.retryAfterMs === null) {
    return { kind: "tokenLimit", code, message, limitTokens: null };
  }
  return classifyStatus(read, operation);
}

/** Why a batch failed as a whole, as its google.rpc.Status tells; null where it tells nothing. */
export function toFailure(status: unknown): Failure | null {
  return failureOf(status, (message) => NO_FILE.test(message));
}
