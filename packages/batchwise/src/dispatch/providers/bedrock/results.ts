// The records of a job's results as result lines. Trusts no type. Pure.

import type { BatchName, ProviderBatch, ResultLine } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { JsonObject } from "../../contract/types.ts";
import { type Answered, answered, failed, noAnswer } from "../shapes/answered.ts";
import { nativeAnswer as claudeMessage, isError } from "../shapes/anthropic/answer.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { MESSAGES } from "./capabilities.ts";
import type { Family } from "./family.ts";

/** `family`: the model's, for an endpoint of OpenAI; null for answers that are not converted. */
export function toResultLine(
  record: JsonObject,
  batch: ProviderBatch,
  name: BatchName,
  family: Family | null,
): ResultLine {
  const { recordId: customId, modelOutput, error } = record;
  if (typeof customId !== "string") throw new DispatchError("RESULTS_UNREADABLE", "A result has no recordId.");
  const output = jsonObject(modelOutput);
  if (output === null) return failedLine(customId, objectOf(error));
  if (family === null) return { customId, ...nativeAnswer(output, name) };
  return {
    customId,
    ...family.toAnswer(output, { recordId: customId, model: name.model, createdAt: batch.createdAt }),
  };
}

/** The output unchanged, or a failure if it is an error of Claude's or empty. */
function nativeAnswer(output: JsonObject, { endpoint }: BatchName): Answered {
  if (endpoint === MESSAGES || isError(output)) return claudeMessage(output);
  if (Object.keys(output).length === 0) return noAnswer("The model answered with nothing.");
  return answered(output, usageIn(output));
}

const CODES: ReadonlyMap<number, string> = new Map([
  [400, "invalid_request_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [408, "timeout_error"],
  [413, "request_too_large"],
  [424, "api_error"],
  [429, "rate_limit_error"],
]);

/** A record with `{ errorCode, errorMessage }` in place of the output. */
function failedLine(customId: string, { errorCode, errorMessage }: { readonly [key: string]: unknown }): ResultLine {
  const given = Number(errorCode);
  const statusCode = given >= 400 && given < 600 ? given : 500;
  const code = CODES.get(statusCode) ?? "api_error";
  const message = text(errorMessage) ?? "Bedrock gave no reason.";
  return { customId, ...failed(statusCode, code, message, code) };
}

/** The token counts of an unconverted answer, in any of the three formats that models use. */
function usageIn(output: JsonObject): JsonObject | null {
  const usage = jsonObject(output.usage);
  if (usage === null) {
    const { prompt_token_count: input, generation_token_count: generated, inputTextTokenCount: embedded } = output;
    if (input === undefined && embedded === undefined) return null;
    return { input_tokens: input ?? embedded, output_tokens: generated };
  }
  if (usage.inputTokens === undefined) return usage;
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_input_tokens: usage.cacheReadInputTokens ?? usage.cacheReadInputTokenCount,
    cache_creation_input_tokens: usage.cacheWriteInputTokens ?? usage.cacheWriteInputTokenCount,
  };
}
