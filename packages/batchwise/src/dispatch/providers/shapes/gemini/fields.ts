// Fields of a chat request in OpenAI's format that Gemini supports. Each field is converted, passed
// on, omitted because the answer is the same, or refused by name; none is dropped silently. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { asksForNothing } from "../openai/chat-fields.ts";
import { checkFields as refuseFields } from "../refusals.ts";
import { invalid, refuse, unsupported } from "./refusal.ts";

/** Fields that the conversion reads. */
const CONVERTED: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "max_tokens",
  "max_completion_tokens",
  "n",
  "stop",
  "temperature",
  "top_p",
  "top_k",
  "seed",
  "presence_penalty",
  "frequency_penalty",
  "logprobs",
  "top_logprobs",
  "response_format",
  "reasoning_effort",
  "tools",
  "tool_choice",
  // Gemini's own, sent unchanged.
  "safetySettings",
  "cachedContent",
  "thinkingConfig",
]);

/** Fields that cannot change the answer, and why. */
export const LEFT_OUT: ReadonlyMap<string, string> = new Map([
  ["metadata", "labels what OpenAI stores"],
  ["prediction", "makes OpenAI faster"],
  ["prompt_cache_key", "makes OpenAI's cache hit more often"],
  ["prompt_cache_options", "says what OpenAI's cache keeps"],
  ["prompt_cache_retention", "says how long OpenAI's cache keeps it"],
  ["safety_identifier", "names the end user to OpenAI"],
  ["service_tier", "a batch has a tier of its own"],
  ["store", "says whether OpenAI keeps the answer"],
  ["stream_options", "says how a stream is sent, and a batch has none"],
  ["user", "names the end user to OpenAI"],
]);

/** Alternatives for refused fields. */
const INSTEAD: ReadonlyMap<string, string> = new Map([
  ["functions", "use `tools`"],
  ["function_call", "use `tool_choice`"],
  ["web_search_options", "send a body of Gemini's own with `googleSearch` among its `tools`"],
]);

/** Throws INVALID_REQUEST for a field that is not converted, not omitted, and has an effect. */
export function checkFields(body: JsonObject): void {
  if (body.stream === true) throw invalid("`stream` is not possible in a batch");
  for (const [name, value] of Object.entries(body)) {
    if (isAbsent(value) || CONVERTED.has(name) || LEFT_OUT.has(name)) continue;
    if (!asksForNothing(name, value)) throw unsupported(named(name));
  }
}

/** Throws if a part of the body at `place` has fields other than the known ones. */
export function checkKnown(place: string, value: JsonObject, known: readonly string[]): void {
  refuseFields(value, new Set(known), place, refuse);
}

export function isAbsent(value: Json | undefined): value is null | undefined {
  return value === undefined || value === null;
}

function named(name: string): string {
  const instead = INSTEAD.get(name);
  return instead === undefined ? `\`${name}\`` : `\`${name}\` (${instead})`;
}
