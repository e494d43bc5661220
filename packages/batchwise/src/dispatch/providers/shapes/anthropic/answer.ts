// Reads Claude's result for one request at Anthropic, Vertex AI and Bedrock: a message, an
// Anthropic error, or neither, which counts as a server error. Trusts no type. Pure.

import type { JsonObject, OutcomeError } from "../../../contract/types.ts";
import { isAccountTrouble } from "../../../format/account-blame.ts";
import { type Answered, answered, failed, noAnswer } from "../answered.ts";
import { objectOf, text } from "../sdk/sdk-error.ts";
import { toCompletion } from "./completion.ts";

/** The HTTP status of an error type, so that one rule classifies the items of all providers. */
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

/** A chat completion from a message. `createdAt` is the batch's, because a message has none. */
export function chatAnswer(message: JsonObject, createdAt: number): Answered {
  return faultOf(message) ?? answered(toCompletion(message, createdAt));
}

/** The unchanged message, or an Anthropic error. */
export function nativeAnswer(message: JsonObject): Answered {
  const fault = faultOf(message);
  if (fault === null) return answered(message);
  const { code: type, message: words } = fault.error as OutcomeError;
  const body = isError(message) ? message : { type: "error", error: { type, message: words } };
  return { ...fault, response: { statusCode: fault.response?.statusCode ?? 500, body } };
}

/** An Anthropic error, with or without its wrapper, in OpenAI's format. */
export function errorAnswer(wire: JsonObject): Answered {
  const inner = wire.error === undefined ? wire : objectOf(wire.error);
  const type = text(inner.type) ?? "api_error";
  const cause = text(objectOf(inner.details).error_code);
  // An account error may have the type of an invalid request: its cause distinguishes them.
  const code = cause !== null && isAccountTrouble(cause, "") ? cause : type;
  const message = text(inner.message) ?? "The provider gave no reason.";
  return failed(STATUSES.get(type) ?? 500, code, message, type);
}

/** True for `{ type: "error", error: { type, message } }`, which may replace a message. */
export function isError(message: JsonObject): boolean {
  return message.type === "error";
}

/** The failure, or null for a message. A message without text or blocks has an empty list. */
function faultOf(message: JsonObject): Answered | null {
  if (isError(message)) return errorAnswer(message);
  return Array.isArray(message.content) ? null : noAnswer("Claude answered without content.");
}
