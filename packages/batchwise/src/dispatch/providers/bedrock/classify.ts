// Classifies errors of Bedrock's control plane and of the storage. AWS identifies errors by name:
// several share the status 400 (API reference, "Errors" of CreateModelInvocationJob). Pure.

import type { Failure, Operation } from "../../contract/failures.ts";
import { classifyStatus } from "../shapes/sdk/classify-status.ts";
import { objectOf, readSdkError } from "../shapes/sdk/sdk-error.ts";

/**
 * The proper status of exceptions that come with a 400, or with the 301 of a bucket in another
 * region (API references of Bedrock and S3, "Common errors" and "Error responses").
 */
const STATUS: ReadonlyMap<string | null, number> = new Map([
  ["AccessDeniedException", 403],
  ["ThrottlingException", 429],
  ["ResourceNotFoundException", 404],
  ["ConflictException", 409],
  // Credentials and permissions.
  ["ExpiredToken", 403],
  ["ExpiredTokenException", 403],
  ["InvalidToken", 403],
  ["TokenRefreshRequired", 403],
  ["RequestExpired", 403],
  ["NotAuthorized", 403],
  ["KMS.DisabledException", 403],
  ["KMS.NotFoundException", 403],
  // The client's options name the wrong region for the bucket.
  ["AuthorizationHeaderMalformed", 403],
  ["IllegalLocationConstraintException", 403],
  ["PermanentRedirect", 403],
  // The upload arrived damaged.
  ["BadDigest", 500],
  ["IncompleteBody", 500],
  ["RequestTimeout", 500],
]);

/** Errors of clients without credentials: nothing was sent. */
const NO_CREDENTIALS: ReadonlySet<unknown> = new Set(["CredentialsProviderError", "TokenProviderError"]);

export function classify(error: unknown, operation: Operation): Failure {
  const read = readSdkError(error);
  const { code, message } = read;
  const { name } = objectOf(error);
  if (NO_CREDENTIALS.has(name)) return { kind: "authOrBilling", code: String(name), message };
  // The model's job limit is reached: other jobs must end first.
  if (code === "ServiceQuotaExceededException") return { kind: "tokenLimit", code, message, limitTokens: null };
  const status = read.status === 400 || read.status === 301 ? (STATUS.get(code) ?? read.status) : read.status;
  return classifyStatus({ ...read, status, retryAfterMs: read.retryAfterMs ?? retryAfter(error) }, operation);
}

/** Reads the raw answer's header, in seconds. */
function retryAfter(error: unknown): number | null {
  const headers = objectOf(objectOf(objectOf(error).$response).headers);
  const seconds = Number(headers["retry-after"] ?? Number.NaN);
  return seconds >= 0 && seconds <= 3_600 ? seconds * 1000 : null;
}
