// Converts embeddings from OpenAI's format to Gemini's EmbedContentRequest, and the answer back.
// Gemini returns one vector per request, so a request with several inputs is refused. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { type Answered, answered, failed } from "../answered.ts";
import { checkFields, dropAbsent } from "../refusals.ts";
import { jsonObject, objectOf, text } from "../sdk/sdk-error.ts";
import { invalid, isAbsent, refuse, unsupported } from "./refusal.ts";
import { count } from "./usage.ts";

/** `taskType` and `title` are Gemini's own. The vector is the same without `user`. */
const KNOWN: ReadonlySet<string> = new Set([
  ...["model", "input", "dimensions", "encoding_format", "user", "taskType", "title"],
]);

/** Throws INVALID_REQUEST, naming the field. */
export function toEmbedContentRequest(body: JsonObject): JsonObject {
  checkFields(body, KNOWN, "", refuse);
  const { dimensions, encoding_format: format, taskType, title } = body;
  if (!isAbsent(format) && format !== "float") throw unsupported(`\`encoding_format\` ${JSON.stringify(format)}`);
  if (!isAbsent(dimensions) && !(Number.isSafeInteger(dimensions) && Number(dimensions) > 0)) {
    throw invalid(`\`dimensions\` must be a whole number from 1, not ${JSON.stringify(dimensions)}`);
  }
  return dropAbsent({
    content: { parts: [{ text: inputOf(body.input) }] },
    outputDimensionality: dimensions ?? undefined,
    taskType: taskType ?? undefined,
    title: title ?? undefined,
  });
}

function inputOf(input: Json | undefined): string {
  const inputs: readonly (Json | undefined)[] = Array.isArray(input) ? input : [input];
  const [only] = inputs;
  if (inputs.length > 1 && inputs.every((each) => typeof each === "string")) {
    throw unsupported(`a request of ${inputs.length} inputs (give each a request of its own)`);
  }
  if (Array.isArray(only) || typeof only === "number") throw unsupported("an `input` of tokens");
  if (typeof only !== "string" || only === "") throw invalid("`input` must be a non-empty text");
  return only;
}

/**
 * A list with one vector, or an error if there is none. `model` is the request's, because an answer
 * has none.
 */
export function embeddingAnswer(response: JsonObject, model: string): Answered {
  const { values } = jsonObject(response.embedding) ?? {};
  if (!Array.isArray(values) || values.length === 0) {
    return failed(500, "no_embedding", "Gemini answered without an embedding.");
  }
  const tokens = count(response.tokenCount) || count(objectOf(response.usageMetadata).promptTokenCount);
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  const data = [{ object: "embedding", index: 0, embedding: values }];
  const body: JsonObject = { object: "list", data, model: text(response.modelVersion) ?? model, usage };
  return answered(body);
}
