// What an error of Bedrock's control plane, or of the storage, means for the batch. Pure. AWS tells
// its errors by name: several share the status 400 (API reference, "Errors" of
// CreateModelInvocationJob).

import type { Failure, Operation } from "../../contract/account.ts";
import { classifyStatus } from "../shapes/classify-status.ts";
import { objectOf, readSdkError } from "../shapes/sdk-error.ts";

/**
 * Exceptions that may come with a 400, or with the 301 of a bucket that is elsewhere, and mean what
 * another status says (API references of Bedrock and S3, "Common errors" and "Error responses").
 */
const STATUS: ReadonlyMap<string | null, number> = new Map([
  ["AccessDeniedException", 403],
  ["ThrottlingException", 429],
  ["ResourceNotFoundException", 404],
  ["ConflictException", 409],
  // Credentials and rights.
  ["ExpiredToken", 403],
  ["ExpiredTokenException", 403],
  ["InvalidToken", 403],
  ["TokenRefreshRequired", 403],
  ["RequestExpired", 403],
  ["NotAuthorized", 403],
  ["KMS.DisabledException", 403],
  ["KMS.NotFoundException", 403],
  // A bucket of another region, which the client's options name wrongly.
  ["AuthorizationHeaderMalformed", 403],
  ["IllegalLocationConstraintException", 403],
  ["PermanentRedirect", 403],
  // What was sent did not arrive whole.
  ["BadDigest", 500],
  ["IncompleteBody", 500],
  ["RequestTimeout", 500],
]);

/** Of the clients, when they have no credentials to sign with: nothing was sent. */
const NO_CREDENTIALS: ReadonlySet<unknown> = new Set(["CredentialsProviderError", "TokenProviderError"]);

export function classify(error: unknown, operation: Operation): Failure {
  const read = readSdkError(error);
  const { code, message } = read;
  const { name } = objectOf(error);
  if (NO_CREDENTIALS.has(name)) return { kind: "authOrBilling", code: String(name), message };
  // As many jobs of the model as may be: others have to end first.
  if (code === "ServiceQuotaExceededException") return { kind: "tokenLimit", code, message, limitTokens: null };
  const status = read.status === 400 || read.status === 301 ? (STATUS.get(code) ?? read.status) : read.status;
  return classifyStatus({ ...read, status, retryAfterMs: read.retryAfterMs ?? retryAfter(error) }, operation);
}

/** Seconds, in the headers of the raw answer. */
function retryAfter(error: unknown): number | null {
  const headers = objectOf(objectOf(objectOf(error).$response).headers);
  const seconds = Number(headers["retry-after"] ?? Number.NaN);
  return seconds >= 0 && seconds <= 3_600 ? seconds * 1000 : null;
}
