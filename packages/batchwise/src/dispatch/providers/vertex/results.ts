// Converts lines of a job's output to results, by model family. Trusts no type. Pure.

import type { BatchName, ProviderBatch, ResultLine } from "../../contract/account.ts";
import { DispatchError } from "../../contract/errors.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { type Answered, failed } from "../shapes/answered.ts";
import {
  STATUSES as ANTHROPIC_STATUSES,
  chatAnswer as claudeAnswer,
  nativeAnswer as claudeMessage,
} from "../shapes/anthropic/answer.ts";
import { chatAnswer, nativeAnswer, RPC_STATUSES } from "../shapes/gemini/answer.ts";
import { embeddingAnswer } from "../shapes/gemini/embedding.ts";
import { unconverted } from "../shapes/lines/read-results.ts";
import { toResultLine as toOpenAiResult } from "../shapes/openai/openai-result.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { GENERATE, MESSAGES } from "./capabilities.ts";
import type { VertexFamily } from "./family.ts";
import { idOf } from "./lines.ts";
import { type TextNames, toEmbedding } from "./texts.ts";

/**
 * HTTP statuses of Google's error names, and Anthropic's, so that one rule classifies the items of
 * all providers.
 */
const STATUSES: ReadonlyMap<string, number> = new Map([...ANTHROPIC_STATUSES, ...RPC_STATUSES]);
const BAD_REQUEST = /^bad request/i;

/** `names`: for a batch of text embeddings, whose lines have no ids. */
export function toResultLine(
  family: VertexFamily,
  line: JsonObject,
  batch: ProviderBatch,
  name: BatchName,
  names: TextNames | null = null,
): ResultLine {
  const customId = names === null ? idIn(family, line) : names.take(line.instance);
  if (customId === null) throw nameless(family);
  try {
    return convert(family, customId, line, batch, name);
  } catch (error) {
    // Only here it is known whose line it is.
    return unconverted(customId, error);
  }
}

function convert(
  family: VertexFamily,
  customId: string,
  line: JsonObject,
  batch: ProviderBatch,
  name: BatchName,
): ResultLine {
  const fault = faultOf(line, batch);
  if (fault !== null) return { customId, ...fault };
  if (family === "openai") return openAiLine(customId, line, name.endpoint);
  if (family === "embedding") return { customId, ...embeddingAnswer(toEmbedding(line), name.model) };
  const response = jsonObject(line.response);
  if (response === null) return { customId, response: null, error: null, usage: null };
  return { customId, ...answerOf(family, response, customId, batch, name) };
}

function idIn(family: VertexFamily, line: JsonObject): string | null {
  return text(line.custom_id) ?? (family === "gemini" ? idOf(line.request) : null);
}

function answerOf(
  family: VertexFamily,
  response: JsonObject,
  customId: string,
  { createdAt }: ProviderBatch,
  { endpoint, model }: BatchName,
): Answered {
  if (endpoint === GENERATE) return nativeAnswer(response);
  if (family === "gemini") return chatAnswer(response, { customId, model, createdAt });
  return endpoint === MESSAGES ? claudeMessage(response) : claudeAnswer(response, createdAt);
}

/** A line in OpenAI's format. An answer without a status is a success. */
function openAiLine(customId: string, line: JsonObject, endpoint: Endpoint): ResultLine {
  const response = jsonObject(line.response);
  const isBare = response !== null && (Array.isArray(response.choices) || Array.isArray(response.data));
  const named = { ...line, custom_id: customId, ...(isBare ? { response: answered(response) } : {}) };
  return toOpenAiResult(named, endpoint);
}

function answered(body: JsonObject): JsonObject {
  return { status_code: 200, body };
}

/** The fault of a failed line: its `status` is a text, mostly followed by an error's JSON. */
function faultOf(line: JsonObject, { state }: ProviderBatch): Answered | null {
  const status = text(line.status);
  if (status === null) return null;
  const fields = errorIn(status);
  const code = text(fields.status) ?? text(fields.type) ?? (BAD_REQUEST.test(status) ? "INVALID_ARGUMENT" : "UNKNOWN");
  const message = text(fields.message) ?? status;
  if (code === "CANCELLED") {
    return { response: null, error: { code: state === "cancelled" ? "batch_cancelled" : code, message }, usage: null };
  }
  const given = typeof fields.code === "number" && fields.code >= 400 && fields.code < 600 ? fields.code : null;
  const statusCode = given ?? STATUSES.get(code) ?? 500;
  return failed(statusCode, code, message);
}

function errorIn(status: string): { readonly [key: string]: unknown } {
  const from = status.indexOf("{");
  if (from < 0) return {};
  try {
    const fields = objectOf(JSON.parse(status.slice(from)));
    return fields.error === undefined ? fields : objectOf(fields.error);
  } catch {
    return {};
  }
}

function nameless(family: VertexFamily): DispatchError {
  const places = { gemini: "the label of its request", embedding: "a text of the batch" };
  const what = family === "gemini" || family === "embedding" ? places[family] : "a custom_id";
  return new DispatchError("RESULTS_UNREADABLE", `A result line without ${what} matches no request.`);
}
