// Classifies a refused call by its status, after the provider's own codes gave no result. All HTTP
// providers share it. Only an answer that proves a refusal counts as one; any other status is
// `unknown`, which is always safe. Pure.

import type { Failure, Operation } from "../../../contract/failures.ts";
import { isAccountTrouble } from "../../../format/account-blame.ts";
import { BAD_HEADER } from "../../../format/client-error.ts";
import { readSdkError, type SdkError } from "./sdk-error.ts";

const QUOTA = /quota|(?:too many|number of) files|files.{0,40}maximum is \d+/i;

/**
 * True for an exhausted quota, which is the account's problem with any status. Azure has one for
 * files: 500 without expiry ("maximum is 500", azure-sdk-for-java issue 47401).
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

/** True if the provider says that the object does not exist. */
export function isMissing(error: unknown, read: (error: unknown) => SdkError = readSdkError): boolean {
  const answer = read(error);
  return answer.status === 404 && !saysUnknown(answer);
}

/** Messages of OpenAI, Groq, Google, Kong, Express, Go's and Amazon's servers. */
const UNKNOWN_ADDRESS =
  /unknown (?:request )?url|invalid url \(|requested url\b.{0,2000}\bnot found on this server|method not found|no route matched|cannot (?:get|post|put|delete) \/|404 page not found/is;
const CODES: ReadonlySet<string | null> = new Set(["unknown_url", "UnknownOperationException"]);
/** A bucket is part of the account's own address. */
const NO_BUCKET = /bucket does not exist/i;
/** These operations name no object, so a 404 means their address. */
const NAMELESS: ReadonlySet<Operation> = new Set(["upload", "list", "find", "files"]);

type Answer = Pick<SdkError, "status" | "code" | "message">;

/**
 * The failure of a call to an unknown address; null for any other error, such as a 404 for a
 * missing object. The base URL or the API version is wrong: no batch of the account can be sent
 * until someone corrects it.
 */
function unknownAddress(answer: Answer, operation: Operation): Failure | null {
  const { status, message } = answer;
  if (!saysUnknown(answer) && !(status === 404 && NAMELESS.has(operation))) return null;
  const [code, what] = NO_BUCKET.test(message)
    ? ["no_such_bucket", "check the storage's `bucket`"]
    : ["unknown_url", "check the base URL and the API version of the client"];
  return { kind: "authOrBilling", code, message: `There is nothing at this address, ${what}: ${message}` };
}

/** True for an answer that can only be about the address. */
function saysUnknown({ status, code, message }: Answer): boolean {
  if (status === 405) return true;
  return status === 404 && (CODES.has(code) || UNKNOWN_ADDRESS.test(message) || NO_BUCKET.test(message));
}
