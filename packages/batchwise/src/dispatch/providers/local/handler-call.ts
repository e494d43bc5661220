// Runs one line as one call of the user's function. An error is the result of only that line, with
// the error's status if it has one (errors of official clients do), so that the dispatcher knows
// whether to retry.

import { retryAfterMs } from "../../../core/contract/retry-after.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { messageIn } from "../../format/client-error.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk/sdk-error.ts";
import type { Answer } from "./answer.ts";
import type { MakeCall } from "./line-runner.ts";

/** The second argument of a handler, beside the request's body. */
export interface LocalCall {
  readonly endpoint: Endpoint;
  /**
   * Aborted when the line's timeout has passed, when the dispatcher stops, and when another process
   * takes over the batch.
   */
  readonly signal: AbortSignal;
}

/** Answers one request: returns the response body, in OpenAI's format for OpenAI's endpoints. */
export type LocalHandler = (body: JsonObject, call: LocalCall) => unknown;

export function handlerCall(handler: LocalHandler): MakeCall {
  return async ({ endpoint, body }, signal) => {
    try {
      const answer: unknown = await handler(body, { endpoint, signal });
      return success(answer);
    } catch (error) {
      signal.throwIfAborted();
      return failure(error);
    }
  };
}

function success(answer: unknown): Answer {
  const body = storable(answer);
  if (body !== null) return { kind: "answer", statusCode: 200, body, retryAfterMs: null };
  const got = answer === null ? "null" : Array.isArray(answer) ? "an array" : typeof answer;
  const message = `Expected the handler to answer with an object that JSON can hold, got ${got}.`;
  return refusal(400, "handler_result", message);
}

/** The answer after a round trip through JSON, as the store will keep it. */
function storable(answer: unknown): JsonObject | null {
  if (jsonObject(answer) === null) return null;
  try {
    return jsonObject(JSON.parse(JSON.stringify(answer)));
  } catch {
    return null;
  }
}

/** The failed answer. An error with `retryable: false`, as batchers throw, is not retried. */
function failure(error: unknown): Answer {
  const { status, statusCode, code, retryable } = objectOf(error);
  const message = messageIn(error);
  const named = text(code) ?? "handler_error";
  const given = [status, statusCode].find((each) => typeof each === "number" && each >= 400 && each <= 599);
  if (given !== undefined) return { ...refusal(Number(given), named, message), retryAfterMs: retryAfter(error) };
  return retryable === false ? refusal(400, named, message) : { kind: "lost", code: named, message, mayRepeat: false };
}

function retryAfter(error: unknown): number | null {
  return retryAfterMs(error, Date.now()) ?? null;
}

function refusal(statusCode: number, code: string, message: string): Extract<Answer, { kind: "answer" }> {
  return { kind: "answer", statusCode, body: { error: { code, message } }, retryAfterMs: null };
}
