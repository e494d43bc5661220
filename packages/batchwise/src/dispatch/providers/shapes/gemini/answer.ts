// Reads Gemini's result for one request as an answer with an HTTP status, so that one rule
// classifies the items of all providers. Trusts no type. Pure.

import type { JsonObject } from "../../../contract/types.ts";
import { type Answered, answered, failed, noAnswer } from "../answered.ts";
import { jsonObject, objectOf, text } from "../sdk/sdk-error.ts";
import { toUsage } from "../usage.ts";
import { type AnswerFacts, blockedBy, candidatesOf, toCompletion } from "./completion.ts";
import { toUsageBody } from "./usage.ts";

/** Names and HTTP statuses of google.rpc.Code (google/rpc/code.proto). */
const RPC: ReadonlyMap<number, readonly [name: string, status: number]> = new Map([
  [1, ["CANCELLED", 499]],
  [2, ["UNKNOWN", 500]],
  [3, ["INVALID_ARGUMENT", 400]],
  [4, ["DEADLINE_EXCEEDED", 504]],
  [5, ["NOT_FOUND", 404]],
  [6, ["ALREADY_EXISTS", 409]],
  [7, ["PERMISSION_DENIED", 403]],
  [8, ["RESOURCE_EXHAUSTED", 429]],
  [9, ["FAILED_PRECONDITION", 400]],
  [10, ["ABORTED", 409]],
  [11, ["OUT_OF_RANGE", 400]],
  [12, ["UNIMPLEMENTED", 501]],
  [13, ["INTERNAL", 500]],
  [14, ["UNAVAILABLE", 503]],
  [15, ["DATA_LOSS", 500]],
  [16, ["UNAUTHENTICATED", 401]],
]);
/** By name. */
export const RPC_STATUSES: ReadonlyMap<string, number> = new Map(RPC.values());
const CANCELLED = 1;

/**
 * A chat completion from a GenerateContentResponse; an error if the prompt was blocked or there is
 * no answer.
 */
export function chatAnswer(response: JsonObject, facts: AnswerFacts): Answered {
  const fault = faultOf(response);
  const usage = toUsage(toUsageBody(objectOf(response.usageMetadata)));
  if (fault !== null) return { ...failed(fault.status, fault.code, fault.message), usage };
  return { ...answered(toCompletion(response, facts)), usage };
}

/** The unchanged response; a failure if it is empty. */
export function nativeAnswer(response: JsonObject): Answered {
  if (Object.keys(response).length === 0) return noAnswer("Gemini answered with nothing.");
  const metadata = jsonObject(response.usageMetadata);
  const usage = metadata === null ? null : toUsage(toUsageBody(metadata));
  return { ...answered(response), usage };
}

interface Fault {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

function faultOf(response: JsonObject): Fault | null {
  if (candidatesOf(response).length > 0) return null;
  const { blockReason, blockReasonMessage, safetyRatings } = objectOf(response.promptFeedback) as JsonObject;
  const reason = text(blockReason);
  if (reason === null) return { status: 500, code: "no_candidates", message: "Gemini answered without a candidate." };
  const why = [text(blockReasonMessage), ...blockedBy(safetyRatings)].filter((each) => each !== null);
  const message = `Gemini blocked the prompt (${reason}${why.length === 0 ? "" : `: ${why.join(", ")}`}).`;
  return { status: 400, code: "content_filter", message };
}

/**
 * The error for a google.rpc.Status. `isCancelled`: the batch was cancelled. Gemini also cancels
 * single requests of successful batches; those are retried, because nothing says that they would be
 * refused again.
 */
export function errorAnswer(status: unknown, isCancelled: boolean): Answered {
  const { code, message } = objectOf(status);
  const number = typeof code === "number" ? code : Number.NaN;
  const words = text(message) ?? "The provider gave no reason.";
  if (number === CANCELLED) {
    const error = { code: isCancelled ? "batch_cancelled" : "CANCELLED", message: words };
    return { response: null, error, usage: null };
  }
  const [name, http] = RPC.get(number) ?? ["UNKNOWN", number >= 400 && number < 600 ? number : 500];
  return failed(http, name, words);
}
