// Reads a result line in OpenAI's format, from OpenAI and services that adopted it. Trusts no type.
// Pure.

import type { ResultLine } from "../../../contract/account.ts";
import { DispatchError } from "../../../contract/errors.ts";
import type { Endpoint, JsonObject, OutcomeError, OutcomeResponse } from "../../../contract/types.ts";
import { errorIn, statusError } from "../../../format/error-words.ts";
import { parseJson } from "../lines/exact-json.ts";
import { jsonObject, objectOf, text } from "../sdk/sdk-error.ts";
import { toUsage } from "../usage.ts";
import { answeredOrNot } from "./no-answer.ts";

export function toResultLine(line: JsonObject, endpoint: Endpoint): ResultLine {
  const customId = text(line.custom_id);
  if (customId === null) throw new DispatchError("RESULTS_UNREADABLE", "A result line has no custom_id.");
  const response = responseOf(line.response);
  const read = {
    customId,
    response,
    error: resultError(line.error) ?? answerError(line.response, response),
    usage: response === null ? null : toUsage(response.body.usage),
  };
  return answeredOrNot(read, endpoint);
}

/**
 * The answer of a result line. A plain text becomes an object: its `text`, or the `message` of a
 * failure.
 */
export function responseOf(value: unknown): OutcomeResponse | null {
  const { status_code: statusCode, body } = objectOf(value);
  if (typeof statusCode !== "number" || statusCode < 100) return null;
  return { statusCode, body: bodyOf(body, statusCode < 300 ? "text" : "message") };
}

/** Some services write the body as a JSON text. */
function bodyOf(body: unknown, wordsIn: string): JsonObject {
  if (typeof body !== "string") return jsonObject(body) ?? {};
  try {
    return jsonObject(parseJson(body)) ?? { [wordsIn]: body };
  } catch {
    return { [wordsIn]: body };
  }
}

/** The error beside the answer: an object, or a plain text. */
export function resultError(value: unknown): OutcomeError | null {
  if (jsonObject(value) === null && text(value) === null) return null;
  const { code, message } = errorIn(value);
  return { code: code ?? "provider_error", message: message ?? "The provider gave no reason." };
}

function answerError(wire: unknown, response: OutcomeResponse | null): OutcomeError | null {
  if (response === null) {
    if (jsonObject(wire) === null) return null;
    return { code: "no_answer", message: "The provider ended the request without an HTTP status." };
  }
  return response.statusCode < 300 ? null : statusError(response.statusCode, response.body);
}
