// What Claude gave for one request, at Anthropic, Vertex AI and Bedrock: a message, an error of
// Anthropic's in place of it, or neither, which is a failure of the server. Pure; trusts nothing
// that it reads.

import type { JsonObject, OutcomeError } from "../../../contract/types.ts";
import { isAccountTrouble } from "../../../format/account-blame.ts";
import { type Answered, answered, failed, noAnswer } from "../answered.ts";
import { objectOf, text } from "../sdk-error.ts";
import { toCompletion } from "./completion.ts";

/** The status that goes with an error type, so that one rule judges the items of all providers. */
export const STATUSES: ReadonlyMap<string, number> = new Map([
  ["invalid_request_error", 400],
  ["authentication_error", 401],
  ["billing_error", 402],
  ["permission_error", 403],
  ["not_found_error", 404],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["api_error", 500],
  ["timeout_error", 504],
  ["overloaded_error", 529],
]);

/**
 * A chat completion out of a message. `createdAt` is the batch's: a message has no time of its own.
 */
export function chatAnswer(message: JsonObject, createdAt: number): Answered {
  return faultOf(message) ?? answered(toCompletion(message, createdAt));
}

/** A message as it came; in place of one, an error in Anthropic's shape. */
export function nativeAnswer(message: JsonObject): Answered {
  const fault = faultOf(message);
  if (fault === null) return answered(message);
  const { code: type, message: words } = fault.error as OutcomeError;
  const body = isError(message) ? message : { type: "error", error: { type, message: words } };
  return { ...fault, response: { statusCode: fault.response?.statusCode ?? 500, body } };
}

/** An error of Anthropic's, with or without the object around it, in OpenAI's shape. */
export function errorAnswer(wire: JsonObject): Answered {
  const inner = wire.error === undefined ? wire : objectOf(wire.error);
  const type = text(inner.type) ?? "api_error";
  const cause = text(objectOf(inner.details).error_code);
  // The type of an error about the account may be that of a bad request: its cause tells them
  // apart.
  const code = cause !== null && isAccountTrouble(cause, "") ? cause : type;
  const message = text(inner.message) ?? "The provider gave no reason.";
  return failed(STATUSES.get(type) ?? 500, code, message, type);
}

/** `{ type: "error", error: { type, message } }`, which may stand where a message is expected. */
export function isError(message: JsonObject): boolean {
  return message.type === "error";
}

/** null for a message. One without words or blocks has an empty list of them. */
function faultOf(message: JsonObject): Answered | null {
  if (isError(message)) return errorAnswer(message);
  return Array.isArray(message.content) ? null : noAnswer("Claude answered without content.");
}
