// A result line in OpenAI's shape, as OpenAI writes it and as others do who took it over. Pure; trusts nothing that it
// reads.

import type { ResultLine } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { JsonObject, OutcomeError, OutcomeResponse } from "../../contract/types.ts";
import { jsonObject, objectOf, text } from "./sdk-error.ts";
import { toUsage } from "./usage.ts";

export function toResultLine(line: JsonObject): ResultLine {
  const customId = text(line.custom_id);
  if (customId === null) throw new DispatchError("RESULTS_UNREADABLE", "A result line has no custom_id.");
  const response = responseOf(line.response, "text");
  return {
    customId,
    response,
    error: errorOf(line.error) ?? statusError(line.response, response),
    usage: response === null ? null : toUsage(response.body.usage),
  };
}

/** The answer of a result line. A body of plain words becomes an object with them in the field that is named. */
export function responseOf(value: unknown, wordsIn: "text" | "message"): OutcomeResponse | null {
  const { status_code: statusCode, body } = objectOf(value);
  if (typeof statusCode !== "number" || statusCode < 100) return null;
  return { statusCode, body: bodyOf(body, wordsIn) };
}

/** Some services write the body as a text of JSON. */
function bodyOf(body: unknown, wordsIn: string): JsonObject {
  if (typeof body !== "string") return jsonObject(body) ?? {};
  try {
    return jsonObject(JSON.parse(body)) ?? { [wordsIn]: body };
  } catch {
    return { [wordsIn]: body };
  }
}

function errorOf(value: unknown): OutcomeError | null {
  const error = jsonObject(value);
  if (error === null) return null;
  const message = text(error.message) ?? "The provider gave no reason.";
  return { code: text(error.code) ?? text(error.type) ?? "provider_error", message };
}

function statusError(wire: unknown, response: OutcomeResponse | null): OutcomeError | null {
  if (response === null) {
    if (jsonObject(wire) === null) return null;
    return { code: "no_answer", message: "The provider ended the request without an HTTP status." };
  }
  if (response.statusCode < 300) return null;
  const message = `The provider answered ${response.statusCode}.`;
  const told = errorOf(response.body.error);
  return told === null ? { code: `http_${response.statusCode}`, message } : told;
}
