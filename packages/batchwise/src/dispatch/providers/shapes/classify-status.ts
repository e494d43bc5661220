// What the status of a refused call means, where the provider's own codes have said nothing else:
// the part of classifying that all HTTP providers share. The rule: only an answer that proves a
// refusal counts as one; whatever is not listed is `unknown`, which is always safe. Pure.

import type { Failure, Operation } from "../../contract/account.ts";
import { isAccountTrouble } from "../../format/account-blame.ts";
import { BAD_HEADER } from "../../format/client-error.ts";
import { readSdkError, type SdkError } from "./sdk-error.ts";
import { saysUnknown, unknownAddress } from "./unknown-address.ts";

const QUOTA = /quota|(?:too many|number of) files|files.{0,40}maximum is \d+/i;

/**
 * A quota that is used up is the account's, whatever the status says. Azure has one for files: 500
 * that do not expire ("maximum is 500", azure-sdk-for-java issue 47401).
 */
export function isQuota(code: string, message: string): boolean {
  return QUOTA.test(code) || QUOTA.test(message);
}

const BAD_KEY =
  "The API key, or another header of the client, has a line break or another character that no header may have.";

export function classifyStatus(error: SdkError, operation: Operation): Failure {
  const { status, message, retryAfterMs } = error;
  const code = error.code ?? error.type ?? (status === null ? "no_answer" : `http_${status}`);
  if (error.isBadHeader) return { kind: "authOrBilling", code: BAD_HEADER, message: BAD_KEY };
  if (error.neverSent) return { kind: "definitelyNotCreated", code, message };
  if (status === null || status >= 500 || status === 408 || status === 409) return { kind: "unknown", code, message };
  if (status >= 400 && isAccountTrouble(code, message)) return { kind: "authOrBilling", code, message };
  if (status === 429) return { kind: "rateLimited", code, message, retryAfterMs };
  if (status === 401 || status === 402 || status === 403) return { kind: "authOrBilling", code, message };
  if (status === 400 || status === 413 || status === 422) {
    if (isQuota(code, message)) return { kind: "authOrBilling", code, message };
    return { kind: "invalidRequest", code, message, lines: [] };
  }
  const unknown = unknownAddress({ status, code, message }, operation);
  if (unknown !== null) return unknown;
  if (status >= 400) return { kind: "definitelyNotCreated", code, message };
  return { kind: "unknown", code, message };
}

/** True where the provider says that it has no such object. */
export function isMissing(error: unknown, read: (error: unknown) => SdkError = readSdkError): boolean {
  const answer = read(error);
  return answer.status === 404 && !saysUnknown(answer);
}
