// Answers of the fake's models in Mistral's format: OpenAI's with the differences that a client
// meets.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { defaultAnswer } from "../answers.ts";
import { isObject } from "../openai/lines.ts";
import { hashOf } from "../random.ts";
import type { FakeAnswer, FakeLine } from "../types.ts";

const CATEGORIES: readonly string[] = ["sexual", "hate_and_discrimination", "violence_and_threats", "pii"];
const FLAGGED = 0.5;
const SCORES = 1_000;

/** The default answer in Mistral's format; a test's own answer is unchanged. */
export function mistralAnswer(line: FakeLine): FakeAnswer {
  switch (line.endpoint) {
    case "/v1/chat/completions":
      return { status: 200, body: completion(defaultAnswer(line).body) };
    case "/v1/embeddings":
      return { status: 200, body: { id: `embd-${hashOf(line.customId)}`, ...defaultAnswer(line).body } };
    case "/v1/moderations":
      return { status: 200, body: moderation(line) };
    default:
      return { status: 200, body: native(line) };
  }
}

/** Without `refusal` and `logprobs`; always with `tool_calls` and `prefix`. */
function completion(body: JsonObject): JsonObject {
  const choices = (body.choices as readonly JsonObject[]).map(({ index, message, finish_reason }) => {
    const { role, content } = message as JsonObject;
    return { index, message: { role, content, tool_calls: null, prefix: false }, finish_reason };
  });
  return { ...body, choices };
}

function moderation({ body, customId }: FakeLine): JsonObject {
  const { input } = body;
  const results = (Array.isArray(input) ? input : [input]).map((text: Json | undefined) => {
    const scores = CATEGORIES.map((name) => [name, (hashOf(`${name} ${String(text)}`) % SCORES) / SCORES] as const);
    const categories = Object.fromEntries(scores.map(([name, score]) => [name, score > FLAGGED]));
    return { categories, category_scores: Object.fromEntries(scores) };
  });
  return { id: `mod-${hashOf(customId)}`, model: body.model ?? "", results };
}

/** Mistral's own endpoints: echoes the request. */
function native({ endpoint, body, customId }: FakeLine): JsonObject {
  const usage = { prompt_tokens: JSON.stringify(body).length, completion_tokens: 1 };
  const model = isObject(body) ? (body.model ?? "") : "";
  return { id: `own-${hashOf(customId)}`, model, endpoint, asked: body, usage };
}
