// Distinguishes two kinds of 404: a missing object, and an address that the provider does not have.
// The latter means a wrong base URL or API version: no batch of the account can be sent until
// someone corrects it. Pure.

import type { Failure, Operation } from "../../../contract/failures.ts";
import type { SdkError } from "./sdk-error.ts";

/** Messages of OpenAI, Groq, Google, Kong, Express, Go's and Amazon's servers. */
const UNKNOWN_ADDRESS =
  /unknown (?:request )?url|invalid url \(|requested url\b.{0,2000}\bnot found on this server|method not found|no route matched|cannot (?:get|post|put|delete) \/|404 page not found/is;
const CODES: ReadonlySet<string | null> = new Set(["unknown_url", "UnknownOperationException"]);
/** A bucket is part of the account's own address. */
const NO_BUCKET = /bucket does not exist/i;
/** These operations name no object, so a 404 means their address. */
const NAMELESS: ReadonlySet<Operation> = new Set(["upload", "list", "find", "files"]);

type Answer = Pick<SdkError, "status" | "code" | "message">;

/** The failure of a call to an unknown address; null for any other error. */
export function unknownAddress(answer: Answer, operation: Operation): Failure | null {
  const { status, message } = answer;
  if (!saysUnknown(answer) && !(status === 404 && NAMELESS.has(operation))) return null;
  const [code, what] = NO_BUCKET.test(message)
    ? ["no_such_bucket", "check the storage's `bucket`"]
    : ["unknown_url", "check the base URL and the API version of the client"];
  return { kind: "authOrBilling", code, message: `There is nothing at this address, ${what}: ${message}` };
}

/** True for an answer that can only be about the address. */
export function saysUnknown({ status, code, message }: Answer): boolean {
  if (status === 405) return true;
  return status === 404 && (CODES.has(code) || UNKNOWN_ADDRESS.test(message) || NO_BUCKET.test(message));
}
