// Converts requests to lines of a job's input, by model family. Pure and deterministic.

import type { LineRequest } from "../../contract/account.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { openaiLine } from "../../format/encode.ts";
import { toParamsElsewhere } from "../shapes/anthropic/elsewhere.ts";
import { toGenerateContentRequest } from "../shapes/gemini/request.ts";
import { refusalsOf } from "../shapes/refusals.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk/sdk-error.ts";
import { ENDPOINTS, GENERATE, MESSAGES } from "./capabilities.ts";
import type { VertexFamily } from "./family.ts";
import { toText } from "./texts.ts";

const { invalid } = refusalsOf("Vertex AI");

/** Required in each body of Claude's (cloud.google.com, partner-models/claude/batch). */
const ANTHROPIC_VERSION = "vertex-2023-10-16";
/**
 * The label for the id of a Gemini line, which has no id field. Answers repeat the request with its
 * labels. Label values are lower-case and our ids upper-case, so the conversion is reversible.
 */
const ID_LABEL = "batchwise_id";
const ID = /^[0-9A-Z_-]{1,63}$/;

/** The user's settings for lines. */
export interface LineOptions {
  readonly defaultMaxTokens: number;
}

export function encodeLine(family: VertexFamily, request: LineRequest, options: LineOptions): string {
  if (family === "openai") return openaiLine(request);
  const { customId, endpoint, body } = request;
  if (family === "embedding") return `${JSON.stringify({ content: toText(JSON.parse(body)) })}\n`;
  const params = toRequest(family, endpoint, JSON.parse(body), options);
  const line = family === "claude" ? { custom_id: customId, request: params } : { request: labelled(params, customId) };
  return `${JSON.stringify(line)}\n`;
}

/**
 * Throws INVALID_REQUEST, naming the path, for a field that the model does not support in a batch.
 */
export function checkRequest(family: VertexFamily, endpoint: Endpoint, body: JsonObject, options: LineOptions): void {
  const endpoints = ENDPOINTS[family];
  if (!endpoints.includes(endpoint)) {
    const has = endpoints.join(" and ");
    throw invalid(`"${text(body.model) ?? ""}" is not served at ${endpoint} in batches, but at ${has}`);
  }
  if (family === "openai") checkOpenAi(endpoint, body);
  else if (family === "embedding") toText(body);
  else toRequest(family, endpoint, body, options);
}

/** The request without the model, which the job names. */
function toRequest(
  family: "gemini" | "claude",
  endpoint: Endpoint,
  body: JsonObject,
  { defaultMaxTokens }: LineOptions,
): JsonObject {
  if (body.stream === true) throw invalid("`stream` is not possible in a batch");
  if (endpoint === GENERATE) return without(body, "model");
  if (family === "gemini") return toGenerateContentRequest(body);
  const params = endpoint === MESSAGES ? body : toParamsElsewhere(body, defaultMaxTokens, "Vertex AI");
  return { anthropic_version: ANTHROPIC_VERSION, ...without(params, "model") };
}

function labelled(request: JsonObject, customId: string): JsonObject {
  if (!ID.test(customId)) throw new TypeError(`Expected an id of capitals, digits, _ and -, got "${customId}".`);
  return { ...request, labels: { ...jsonObject(request.labels), [ID_LABEL]: customId.toLowerCase() } };
}

/** The id in the labels of a returned request; null if there is none. */
export function idOf(request: unknown): string | null {
  return text(objectOf(objectOf(request).labels)[ID_LABEL])?.toUpperCase() ?? null;
}

function checkOpenAi(endpoint: Endpoint, body: JsonObject): void {
  if (body.stream === true) throw invalid("`stream` is not possible in a batch");
  const field = endpoint === "/v1/embeddings" ? "input" : "messages";
  const value = body[field];
  const isGiven = Array.isArray(value) ? value.length > 0 : field === "input" && text(value) !== null;
  if (!isGiven) throw invalid(`\`${field}\` must be ${field === "input" ? "a text or " : ""}a non-empty array`);
}

function without(body: JsonObject, name: string): JsonObject {
  const { [name]: _, ...others } = body;
  return others;
}
