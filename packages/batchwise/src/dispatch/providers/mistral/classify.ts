// Classifies errors of the Mistral client, which have `statusCode`, `headers` and the body as text.
// A body is `{ message, type, code }` or, for a refused field, `{ detail: [{ loc, msg }] }`. Pure.

import type { Failure, LineFault, Operation } from "../../contract/failures.ts";
import type { JsonObject } from "../../contract/types.ts";
import { isAccountTrouble } from "../../format/account-blame.ts";
import { errorIn } from "../../format/error-words.ts";
import { classifyStatus } from "../shapes/sdk/classify-status.ts";
import { jsonObject, objectOf, readSdkError, type SdkError, text } from "../shapes/sdk/sdk-error.ts";

/** The limit of waiting requests in one workspace. */
const ENQUEUED = /pending requests|too many (?:pending|batch)/i;
const OF_THE_PROVIDER = /internal|server error|timed? ?out|unavailable|try again/i;
const NO_LINES: readonly LineFault[] = [];

/** `status` is the answer's; 200 if the client could not validate it. */
export function readMistralError(error: unknown): SdkError {
  const { statusCode, body } = objectOf(error);
  const read = readSdkError(error);
  if (typeof statusCode !== "number") return read;
  const parsed = parse(body);
  const fields = jsonObject(parsed.error) ?? parsed;
  return {
    ...read,
    status: statusCode,
    code: codeOf(fields),
    type: text(fields.type),
    param: text(fields.param),
    message: errorIn(fields).message ?? read.message,
    neverSent: false,
  };
}

export function classify(error: unknown, operation: Operation): Failure {
  const read = readMistralError(error);
  const { status, message } = read;
  const code = read.code ?? read.type ?? (status === null ? "no_answer" : `http_${status}`);
  const refused = status !== null && status >= 400 && status < 500;
  if (refused && ENQUEUED.test(message)) return { kind: "tokenLimit", code, message, limitTokens: null };
  return classifyStatus({ ...read, code }, operation);
}

/** `errors` of a job that failed as a whole: `[{ message, count }]`. They name no lines. */
export function classifyJobErrors(errors: unknown): Failure | null {
  const rows = (Array.isArray(errors) ? errors : []).map(objectOf);
  const messages = rows.map((row) => text(row.message)).filter((each) => each !== null);
  if (messages.length === 0) return null;
  const message = messages.join(" ");
  if (ENQUEUED.test(message)) return { kind: "tokenLimit", code: "job_failed", message, limitTokens: null };
  if (isAccountTrouble(null, message)) return { kind: "authOrBilling", code: "job_failed", message };
  if (OF_THE_PROVIDER.test(message)) return { kind: "unknown", code: "job_failed", message };
  return { kind: "invalidRequest", code: "job_failed", message, lines: NO_LINES };
}

function codeOf({ code }: JsonObject): string | null {
  return typeof code === "number" ? String(code) : text(code);
}

function parse(body: unknown): JsonObject {
  try {
    return jsonObject(JSON.parse(String(body))) ?? {};
  } catch {
    return { message: String(body) };
  }
}
