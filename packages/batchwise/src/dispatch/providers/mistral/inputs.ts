// Converts embeddings and moderations from OpenAI's format to Mistral's. Fields: EmbeddingRequest
// and ClassificationRequest of @mistralai/mistralai 2.7.0. Pure.

import type { Json, JsonObject } from "../../contract/types.ts";
import { checkFields, dropAbsent } from "../shapes/refusals.ts";
import { objectOf } from "../shapes/sdk/sdk-error.ts";
import { invalid, refuse, unsupported } from "./refusal.ts";

const EMBEDDINGS: ReadonlySet<string> = new Set([
  ...["model", "input", "dimensions", "encoding_format", "user"],
  // Mistral's own.
  ...["output_dimension", "output_dtype", "metadata"],
]);
const MODERATIONS: ReadonlySet<string> = new Set(["model", "input", "metadata"]);

/** Converts an embeddings request. Omits `user`, which cannot change a vector. */
export function toEmbeddingRequest(body: JsonObject): JsonObject {
  checkFields(body, EMBEDDINGS, "", refuse);
  return dropAbsent({
    model: body.model,
    input: toTexts(body.input, false),
    output_dimension: body.dimensions ?? body.output_dimension ?? undefined,
    output_dtype: body.output_dtype ?? undefined,
    encoding_format: body.encoding_format ?? undefined,
    metadata: body.metadata ?? undefined,
  });
}

export function toModerationRequest(body: JsonObject): JsonObject {
  checkFields(body, MODERATIONS, "", refuse);
  return dropAbsent({ model: body.model, input: toTexts(body.input, true), metadata: body.metadata ?? undefined });
}

/** A text, or a list of texts. `parts`: texts may also be message parts. */
function toTexts(input: Json | undefined, parts: boolean): Json {
  if (typeof input === "string" && input !== "") return input;
  if (!Array.isArray(input) || input.length === 0) throw invalid("`input` must be a text or a non-empty array");
  return input.map((each: Json, index) => {
    if (typeof each === "string") return each;
    const { type, text } = objectOf(each);
    if (parts && type === "text" && typeof text === "string") return text;
    throw unsupported(`\`input[${index}]\` other than a text`);
  });
}
