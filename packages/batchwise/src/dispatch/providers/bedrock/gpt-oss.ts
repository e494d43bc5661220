// OpenAI's open models at Bedrock. Bodies and answers are OpenAI's chat completions with text only
// (Bedrock user guide, "OpenAI models"), so fields pass through. Reasoning in front of an answer's
// text is moved out of it. Pure.

import type { Json, JsonObject } from "../../contract/types.ts";
import { answered, noAnswer } from "../shapes/answered.ts";
import { partsOf } from "../shapes/openai/chat.ts";
import { answeredOrNot } from "../shapes/openai/no-answer.ts";
import { refusalsOf } from "../shapes/refusals.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk/sdk-error.ts";
import type { Family } from "./family.ts";

const ENDPOINT = "/v1/chat/completions";
const REASONING = /^<reasoning>([\s\S]*?)<\/reasoning>\s*/;
const refuse = refusalsOf("gpt-oss");
const TEXTS: ReadonlySet<Json | undefined> = new Set(["text", "refusal"]);

export const gptOss: Family = {
  endpoint: ENDPOINT,
  /** The job names the model: "you can omit this field". */
  toInput({ model: _model, ...body }) {
    if (body.stream === true) throw refuse.invalid("`stream` is not possible in a batch");
    return { ...body, messages: toMessages(body.messages) };
  },
  toAnswer(output, { recordId: customId, model }) {
    const choices = Array.isArray(output.choices) ? output.choices.map(withReasoningApart) : [];
    const line = answeredOrNot({ customId, ...answered({ ...output, model, choices }) }, ENDPOINT);
    if (line.error !== null || jsonObject(objectOf(choices[0]).message) !== null) return line;
    return { ...noAnswer("The model answered without a message."), usage: line.usage };
  },
};

/** Moves the reasoning in front of the answer's text to `reasoning_content`. */
function withReasoningApart(choice: Json): Json {
  const source = jsonObject(choice);
  const message = jsonObject(source?.message);
  const [head, reasoning] = REASONING.exec(text(message?.content) ?? "") ?? [];
  if (head === undefined || reasoning === undefined) return choice;
  const content = String(message?.content).slice(head.length);
  return { ...source, message: { ...message, content, reasoning_content: reasoning } };
}

/** Checks that all is text. Reasoning of earlier answers is left out. */
function toMessages(messages: Json | undefined): readonly JsonObject[] {
  if (!Array.isArray(messages) || messages.length === 0) throw refuse.invalid("`messages` must be a non-empty array");
  return messages.map((message, at) => {
    const source: JsonObject | null = jsonObject(message);
    if (source === null) throw refuse.invalid(`\`messages[${at}]\` must be an object`);
    const parts = partsOf(source.content, `messages[${at}]`, refuse);
    const odd = parts.findIndex(({ type }) => !TEXTS.has(type));
    if (odd >= 0) throw refuse.unsupported(`\`messages[${at}].content[${odd}]\`, which is no text,`);
    const { reasoning_content: _reasoning, ...rest } = source;
    return rest;
  });
}
