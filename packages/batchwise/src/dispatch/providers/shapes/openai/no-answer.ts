// Detects a 200 without an answer in OpenAI's format: an empty body, an error, a failed response or
// an empty list. The request is retried like after a server error. Pure.

import type { ResultLine } from "../../../contract/account.ts";
import type { Endpoint, JsonObject } from "../../../contract/types.ts";
import { isAccountTrouble } from "../../../format/account-blame.ts";
import { errorIn } from "../../../format/error-words.ts";
import { failed, noAnswer } from "../answered.ts";
import { objectOf, text } from "../sdk/sdk-error.ts";
import { toUsage } from "../usage.ts";

/** The list with the answer, by endpoint. */
const ANSWERS_IN: Readonly<Record<string, string>> = {
  "/v1/chat/completions": "choices",
  "/v1/completions": "choices",
  "/v1/embeddings": "data",
  "/v1/contextualizedembeddings": "data",
  "/v1/rerank": "data",
  "/v1/images/generations": "data",
  "/v1/images/edits": "data",
  "/v1/moderations": "results",
};
const FAILED_STATES: ReadonlySet<unknown> = new Set(["failed", "cancelled"]);

/** The line, or a failure if it succeeded without an answer. */
export function answeredOrNot(line: ResultLine, endpoint: Endpoint): ResultLine {
  const { customId, response, error } = line;
  if (response === null || error !== null || response.statusCode >= 300) return line;
  const { body } = response;
  const what = lackOf(endpoint, body);
  if (what === null) return line;
  const { code, message } = errorIn(isError(body) ? body : (body.error ?? {}));
  const words = [code, message].filter((each) => each !== null).join(": ");
  const told = `The provider answered ${response.statusCode} ${what}${words === "" ? "" : `: "${words}"`}.`;
  // An account without credit may also answer 200.
  const isOfAccount = isAccountTrouble(code, message ?? "");
  const instead = isOfAccount ? failed(500, code ?? "account_error", message ?? told) : noAnswer(told);
  return { customId, ...instead, usage: toUsage(body.usage) };
}

/** Describes the fault of the body; null if it has an answer. */
function lackOf(endpoint: Endpoint, body: JsonObject): string | null {
  if (Object.keys(body).length === 0) return "with nothing";
  if (isError(body) || !isNone(body.error)) return "with an error in place of an answer";
  if (endpoint === "/v1/responses" && FAILED_STATES.has(body.status)) return `with a response that has ${body.status}`;
  const list = ANSWERS_IN[endpoint];
  const answers = list === undefined ? undefined : body[list];
  if (answers === undefined) return null;
  if (!Array.isArray(answers) || answers.length === 0) return `without anything in \`${list}\``;
  return answers.every((each) => !isNone(objectOf(each).error)) ? "with errors in place of answers" : null;
}

/** True for vLLM's form of an error. */
function isError({ object }: JsonObject): boolean {
  return text(object) === "error";
}

function isNone(value: unknown): boolean {
  return value === undefined || value === null || value === "" || value === false;
}
