// One line as one call of the user's function. What it throws is the result of that line alone:
// with the status that the error has (errors of the official clients do), so that the dispatcher
// knows what to try again.

import { retryAfterMs } from "../../../core/contract/retry-after.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { messageIn } from "../../format/client-error.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk-error.ts";
import type { Answer } from "./answer.ts";
import type { MakeCall } from "./line-runner.ts";

/** What a handler is told of the request beside its body. */
export interface LocalCall {
  readonly endpoint: Endpoint;
  /**
   * Aborted when the line's time is over, when the dispatcher stops, and when the batch is another
   * process's.
   */
  readonly signal: AbortSignal;
}

/**
 * Answers one request: gives the body of the response, in OpenAI's shape for OpenAI's endpoints.
 */
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

/** What is not JSON is lost in the store, so the body is what comes back of it. */
function storable(answer: unknown): JsonObject | null {
  if (jsonObject(answer) === null) return null;
  try {
    return jsonObject(JSON.parse(JSON.stringify(answer)));
  } catch {
    return null;
  }
}

/**
 * An error that says it will be the same again (`retryable: false`, as batchers' do) is not tried
 * again.
 */
function failure(error: unknown): Answer {
  const { status, statusCode, code, retryable } = objectOf(error);
  const message = messageIn(error);
  const named = text(code) ?? "handler_error";
  const told = [status, statusCode].find((each) => typeof each === "number" && each >= 400 && each <= 599);
  if (told !== undefined) return { ...refusal(Number(told), named, message), retryAfterMs: retryAfter(error) };
  return retryable === false ? refusal(400, named, message) : { kind: "lost", code: named, message, mayRepeat: false };
}

function retryAfter(error: unknown): number | null {
  return retryAfterMs(error, Date.now()) ?? null;
}

function refusal(statusCode: number, code: string, message: string): Extract<Answer, { kind: "answer" }> {
  return { kind: "answer", statusCode, body: { error: { code, message } }, retryAfterMs: null };
}
