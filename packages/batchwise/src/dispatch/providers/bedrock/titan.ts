// Titan's text embeddings. A record embeds one text. Fields are from the Bedrock user guide,
// "Amazon Titan Embeddings": `dimensions`, `normalize` and `embeddingTypes` belong to version 2.
// Pure.

import type { Json, JsonObject } from "../../contract/types.ts";
import { answered, noAnswer } from "../shapes/answered.ts";
import { checkFields, dropAbsent, refusalsOf } from "../shapes/refusals.ts";
import type { Family } from "./family.ts";

const refuse = refusalsOf("Titan");

/** `user` is a label of OpenAI's. The last two are Titan's own and are sent unchanged. */
const KNOWN: ReadonlySet<string> = new Set([
  "model",
  "input",
  "dimensions",
  "encoding_format",
  "user",
  "normalize",
  "embeddingTypes",
]);

export const titan: Family = {
  endpoint: "/v1/embeddings",
  toInput(body) {
    checkFields(body, KNOWN, "", refuse);
    const { encoding_format: format = "float" } = body;
    if (format !== "float" && format !== null) throw refuse.unsupported('`encoding_format` other than "float"');
    return dropAbsent({
      inputText: textOf(body.input),
      dimensions: body.dimensions ?? undefined,
      normalize: body.normalize ?? undefined,
      embeddingTypes: body.embeddingTypes ?? undefined,
    });
  },
  /** Fields that are not read keep their own names. */
  toAnswer({ embedding, inputTextTokenCount: tokens = 0, ...own }, { model }) {
    const { float: floats, ...others } = (own.embeddingsByType ?? {}) as JsonObject;
    const vector = embedding ?? floats;
    const hasOthers = Object.keys(others).length > 0;
    if (!hasOthers && !(Array.isArray(vector) && vector.length > 0))
      return noAnswer("Titan answered without a vector.");
    return answered({
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: vector }],
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
      ...own,
      embeddingsByType: hasOthers ? others : undefined,
    });
  },
};

function textOf(input: Json | undefined): string {
  const texts = Array.isArray(input) ? input : [input];
  if (texts.length !== 1) throw refuse.unsupported(`${texts.length} inputs in one request (make one of each)`);
  const [only] = texts;
  if (typeof only !== "string") throw refuse.unsupported("an `input` of tokens");
  if (only === "") throw refuse.invalid("`input` is empty");
  return only;
}
