// OpenAI's open models at Bedrock. Bodies and answers are those of OpenAI's chat completions, of
// texts alone (Bedrock user guide, "OpenAI models"), so fields pass through. Pure.

import type { Json, JsonObject } from "../../contract/types.ts";
import { answered, noAnswer } from "../shapes/answered.ts";
import { partsOf } from "../shapes/chat.ts";
import { refusalsOf } from "../shapes/refusals.ts";
import { jsonObject } from "../shapes/sdk-error.ts";
import type { Family } from "./family.ts";

const refuse = refusalsOf("gpt-oss");
const TEXTS: ReadonlySet<Json | undefined> = new Set(["text", "refusal"]);

export const gptOss: Family = {
  endpoint: "/v1/chat/completions",
  /** The job names the model: "you can omit this field". */
  toInput({ model: _model, ...body }) {
    if (body.stream === true) throw refuse.invalid("`stream` is not possible in a batch");
    checkTexts(body.messages);
    return body;
  },
  toAnswer(output, { model }) {
    const { choices } = output;
    if (!Array.isArray(choices) || choices.length === 0) return noAnswer("The model answered without a choice.");
    return answered({ ...output, model });
  },
};

function checkTexts(messages: Json | undefined): void {
  if (!Array.isArray(messages) || messages.length === 0) throw refuse.invalid("`messages` must be a non-empty array");
  for (const [at, message] of messages.entries()) {
    const source: JsonObject | null = jsonObject(message);
    if (source === null) throw refuse.invalid(`\`messages[${at}]\` must be an object`);
    const parts = partsOf(source.content, `messages[${at}]`, refuse);
    const odd = parts.findIndex(({ type }) => !TEXTS.has(type));
    if (odd >= 0) throw refuse.unsupported(`\`messages[${at}].content[${odd}]\`, which is no text,`);
  }
}
