// What a provider gave for one request of a batch, as an answer with an HTTP status, so that one
// rule classifies the items of all providers. Pure.

import type { ResultLine } from "../../contract/account.ts";
import type { JsonObject } from "../../contract/types.ts";
import { toUsage } from "./usage.ts";

export type Answered = Omit<ResultLine, "customId">;

/**
 * A body that answers the request. Its usage is read, unless the body has it in words of its own.
 */
export function answered(body: JsonObject, usage: unknown = body.usage): Answered {
  return { response: { statusCode: 200, body }, error: null, usage: toUsage(usage) };
}

/** An error in place of an answer, in OpenAI's shape. */
export function failed(statusCode: number, code: string, message: string, type: string = typeOf(statusCode)): Answered {
  const body = { error: { message, type, param: null, code } };
  return { response: { statusCode, body }, error: { code, message }, usage: null };
}

/**
 * An answer of 200 in which the answer is missing. It is tried again, as after a failure of the
 * server.
 */
export function noAnswer(message: string): Answered {
  return failed(500, "no_answer", message);
}

function typeOf(statusCode: number): string {
  return statusCode >= 500 ? "server_error" : "invalid_request_error";
}
