// A provider's result for one request, as an answer with an HTTP status, so that one rule
// classifies the items of all providers. Pure.

import type { ResultLine } from "../../contract/account.ts";
import type { JsonObject } from "../../contract/types.ts";
import { toUsage } from "./usage.ts";

export type Answered = Omit<ResultLine, "customId">;

/** A successful answer. Reads its usage from the body unless given. */
export function answered(body: JsonObject, usage: unknown = body.usage): Answered {
  return { response: { statusCode: 200, body }, error: null, usage: toUsage(usage) };
}

/** An error answer in OpenAI's format. */
export function failed(statusCode: number, code: string, message: string, type: string = typeOf(statusCode)): Answered {
  const body = { error: { message, type, param: null, code } };
  return { response: { statusCode, body }, error: { code, message }, usage: null };
}

/** A 200 without an answer in it. It is retried like a server error. */
export function noAnswer(message: string): Answered {
  return failed(500, "no_answer", message);
}

function typeOf(statusCode: number): string {
  return statusCode >= 500 ? "server_error" : "invalid_request_error";
}
