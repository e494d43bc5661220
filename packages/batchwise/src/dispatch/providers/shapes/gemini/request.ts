// A chat request in OpenAI's shape as Gemini's GenerateContentRequest, for the Gemini API and for
// Vertex AI alike. Pure, and the same on every machine. The model is not part of it: it stands in
// the address of a batch. Names are those of the REST reference
// (ai.google.dev/api/generate-content) and of the types of @google/genai 2.32.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { dropAbsent } from "../refusals.ts";
import { toContents } from "./contents.ts";
import { checkFields, isAbsent } from "./fields.ts";
import { toGenerationConfig } from "./generation-config.ts";
import { invalid } from "./refusal.ts";
import { toToolConfig, toTools } from "./tools.ts";

/** Throws INVALID_REQUEST, naming the place, for what Gemini cannot be asked. */
export function toGenerateContentRequest(body: JsonObject): JsonObject {
  checkFields(body);
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

/** A field of Gemini's own, sent as it is. */
function own(value: Json | undefined, name: string, isGood: (value: Json) => boolean): Json | undefined {
  if (isAbsent(value)) return undefined;
  if (!isGood(value)) throw invalid(`\`${name}\` is not what Gemini has under that name`);
  return value;
}
