// Converts a chat request from OpenAI's format to Gemini's GenerateContentRequest, for the Gemini
// API and Vertex AI. The model is not part of it: the batch's address has it. Names are from the
// REST reference (ai.google.dev/api/generate-content) and the types of @google/genai 2.32. Pure and
// deterministic.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { CHAT_FIELDS, checkChatFields } from "../openai/chat-fields.ts";
import { dropAbsent } from "../refusals.ts";
import { toContents } from "./contents.ts";
import { toGenerationConfig } from "./generation-config.ts";
import { invalid, isAbsent, refuse, unsupported } from "./refusal.ts";
import { toToolConfig, toTools } from "./tools.ts";

const KNOWN: ReadonlySet<string> = new Set([
  ...CHAT_FIELDS,
  ...["n", "top_k", "seed", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"],
  // Gemini's own, sent unchanged.
  ...["safetySettings", "cachedContent", "thinkingConfig"],
]);
const SEARCH = "`web_search_options` (send a body of Gemini's own with `googleSearch` among its `tools`)";

/** Throws INVALID_REQUEST, naming the path, for a field that Gemini does not support. */
export function toGenerateContentRequest(body: JsonObject): JsonObject {
  if (!isAbsent(body.web_search_options)) throw unsupported(SEARCH);
  checkChatFields(body, KNOWN, refuse);
  const model = typeof body.model === "string" ? body.model : "";
  const { contents, system, detail } = toContents(body.messages, model);
  const tools = toTools(body.tools);
  return dropAbsent({
    contents,
    systemInstruction: system.length === 0 ? undefined : { parts: system },
    tools,
    toolConfig: toToolConfig(body.tool_choice, body.tools),
    generationConfig: toGenerationConfig(body, model, detail),
    safetySettings: own(body.safetySettings, "safetySettings", Array.isArray),
    cachedContent: own(body.cachedContent, "cachedContent", (value) => typeof value === "string"),
  });
}

/** A field of Gemini's own, sent unchanged. */
function own(value: Json | undefined, name: string, isGood: (value: Json) => boolean): Json | undefined {
  if (isAbsent(value)) return undefined;
  if (!isGood(value)) throw invalid(`\`${name}\` is not what Gemini has under that name`);
  return value;
}
