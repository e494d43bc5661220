// Converts Mistral's answers to OpenAI's format. They are close: a reasoning model's text comes in
// chunks, a moderation result lacks `flagged`, and a few values differ. Unknown fields are kept.
// Pure.

import type { Json, JsonObject } from "../../contract/types.ts";
import { jsonText } from "../shapes/lines/exact-json.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk/sdk-error.ts";

const FINISH_REASONS: ReadonlyMap<unknown, string> = new Map([["model_length", "length"]]);

/** The body of a successful line. Answers of Mistral's own endpoints are not changed. */
export function toAnswer(endpoint: string, body: JsonObject): JsonObject {
  if (endpoint === "/v1/chat/completions" && Array.isArray(body.choices)) {
    return { ...body, object: "chat.completion", choices: body.choices.map(toChoice) };
  }
  if (endpoint === "/v1/moderations" && Array.isArray(body.results)) {
    return { ...body, results: body.results.map(toModeration) };
  }
  return body;
}

function toChoice(choice: Json): JsonObject {
  const source = jsonObject(choice) ?? {};
  const finish = FINISH_REASONS.get(source.finish_reason) ?? source.finish_reason;
  return { ...source, message: toMessage(jsonObject(source.message) ?? {}), logprobs: null, finish_reason: finish };
}

function toMessage({ content, tool_calls: calls, prefix: _, ...rest }: JsonObject): JsonObject {
  const chunks: readonly JsonObject[] = Array.isArray(content)
    ? content.map((each: Json) => jsonObject(each) ?? {})
    : [];
  const toolCalls = Array.isArray(calls) && calls.length > 0 ? { tool_calls: calls.map(toToolCall) } : {};
  return {
    ...rest,
    role: "assistant",
    content: Array.isArray(content) ? textOf(chunks) : (content ?? null),
    refusal: null,
    ...thoughtsOf(chunks),
    ...referencesOf(chunks),
    ...toolCalls,
  };
}

function textOf(chunks: readonly JsonObject[]): string | null {
  const texts = chunks.filter(({ type }) => type === "text");
  return texts.length === 0 ? null : texts.map((chunk) => text(chunk.text) ?? "").join("");
}

/** Reasoning as text, and as whole chunks for later requests: they may be signed. */
function thoughtsOf(chunks: readonly JsonObject[]): JsonObject {
  const blocks = chunks.filter(({ type }) => type === "thinking");
  if (blocks.length === 0) return {};
  const parts = blocks.flatMap(({ thinking }) => (Array.isArray(thinking) ? thinking : [thinking]));
  const words = parts.map((part) => text(part) ?? text(objectOf(part).text) ?? "").join("");
  return { reasoning_content: words, thinking_blocks: blocks };
}

/** Chunks other than text and reasoning: references to documents, files and images of tools. */
function referencesOf(chunks: readonly JsonObject[]): JsonObject {
  const others = chunks.filter(({ type }) => type !== "text" && type !== "thinking");
  return others.length === 0 ? {} : { content_chunks: others };
}

/** Makes arguments a text: Mistral may return an object. */
function toToolCall(call: Json): JsonObject {
  const { id, function: called } = objectOf(call) as JsonObject;
  const { name, arguments: given } = objectOf(called) as JsonObject;
  const written = typeof given === "string" ? given : jsonText(given ?? {});
  return { id, type: "function", function: { name, arguments: written } };
}

function toModeration(result: Json): JsonObject {
  const source = jsonObject(result) ?? {};
  return { flagged: Object.values(objectOf(source.categories)).includes(true), ...source };
}
