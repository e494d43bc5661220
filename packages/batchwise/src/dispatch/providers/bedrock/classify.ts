// What an error of Bedrock's control plane, or of the storage, means for the batch. Pure. AWS tells its errors by name:
// several share the status 400 (API reference, "Errors" of CreateModelInvocationJob).

import type { Failure, Operation } from "../../contract/account.ts";
import { classifyStatus, objectOf, readSdkError } from "../shapes/sdk-error.ts";

/** Exceptions that may come with a 400 and mean what another status says. */
const STATUS: ReadonlyMap<string | null, number> = new Map([
  ["AccessDeniedException", 403],
  ["ThrottlingException", 429],
  ["ResourceNotFoundException", 404],
  ["ConflictException", 409],
]);

export function classify(error: unknown, _operation: Operation): Failure {
  const read = readSdkError(error);
  const { code, message } = read;
  // As many jobs of the model as may be: others have to end first.
  if (code === "ServiceQuotaExceededException") return { kind: "tokenLimit", code, message, limitTokens: null };
  const status = read.status === 400 ? (STATUS.get(code) ?? 400) : read.status;
  return classifyStatus({ ...read, status, retryAfterMs: read.retryAfterMs ?? retryAfter(error) });
}

/** Seconds, in the headers of the raw answer. */
function retryAfter(error: unknown): number | null {
  const headers = objectOf(objectOf(objectOf(error).$response).headers);
  const seconds = Number(headers["retry-after"] ?? Number.NaN);
  return seconds >= 0 && seconds <= 3_600 ? seconds * 1000 : null;
}
