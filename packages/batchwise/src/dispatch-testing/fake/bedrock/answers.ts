// Default answers of Bedrock's models: an echo of the last user message, or a vector of the text,
// in the format of the model family. The input's fields show the family.

import type { Json, JsonObject } from "../../../dispatch/contract/types.ts";
import { hashOf, seededRandom } from "../random.ts";
import type { FakeAnswer, FakeLine } from "../types.ts";

const DIMENSIONS = 4;
const TURN_OF_LLAMA = /<\|(?:start_header_id|header_start)\|>user<\|(?:end_header_id|header_end)\|>\n\n([^<]*)/g;

export function bedrockAnswer({ body }: FakeLine): FakeAnswer {
  if (body.inputText !== undefined) return { status: 200, body: titanAnswer(String(body.inputText)) };
  if (body.prompt !== undefined) return { status: 200, body: llamaAnswer(String(body.prompt)) };
  return { status: 200, body: converseAnswer(body.messages) };
}

function titanAnswer(text: string): JsonObject {
  const embedding = Array.from({ length: DIMENSIONS }, seededRandom(hashOf(text)));
  return { embedding, inputTextTokenCount: words(text), embeddingsByType: { float: embedding } };
}

function llamaAnswer(prompt: string): JsonObject {
  const last = [...prompt.matchAll(TURN_OF_LLAMA)].at(-1)?.[1] ?? "";
  const generation = `echo: ${last}`;
  const [input, output] = [words(prompt), words(generation)];
  return { generation, prompt_token_count: input, generation_token_count: output, stop_reason: "stop" };
}

function converseAnswer(messages: Json | undefined): JsonObject {
  const last = (Array.isArray(messages) ? messages.at(-1) : undefined) as { readonly content?: Json } | undefined;
  const blocks = (Array.isArray(last?.content) ? last.content : []) as readonly { readonly text?: string }[];
  const texts = blocks.map((block) => block.text ?? "");
  const text = `echo: ${texts.join("")}`;
  const [inputTokens, outputTokens] = [words(JSON.stringify(messages ?? "")), words(text)];
  return {
    output: { message: { role: "assistant", content: [{ text }] } },
    stopReason: "end_turn",
    usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
  };
}

function words(text: string): number {
  return Math.max(1, Math.ceil(text.length / 4));
}
