// Default answers of the fake's models: an echo for chat, a small vector for embeddings. Each
// depends only on the request.

import type { Json, JsonObject } from "../../dispatch/contract/types.ts";
import { errorType } from "./anthropic/error-type.ts";
import { bedrockAnswer } from "./bedrock/answers.ts";
import { openaiAnswers } from "./openai/answers.ts";
import { hashOf, seededRandom } from "./random.ts";
import type { FakeAnswer, FakeLine } from "./types.ts";

const DIMENSIONS = 4;

/** The default `answer`, in the format of the surface that got the call. */
export function defaultAnswer(line: FakeLine): FakeAnswer {
  if (line.endpoint === "/v1/embeddings") return { status: 200, body: embeddings(line) };
  if (line.endpoint === "/v1/messages") return { status: 200, body: message(line) };
  if (line.endpoint === "/v1beta/generateContent") return { status: 200, body: generated(line) };
  if (line.endpoint === "/v1beta/embedContent") return { status: 200, body: embedded(line) };
  if (line.endpoint.startsWith("/model/")) return bedrockAnswer(line);
  return { status: 200, body: (openaiAnswers[line.endpoint] ?? completion)(line) };
}

/** The failure of a line that `failedShare` selects. */
export function serverFault(endpoint: string, status: number): FakeAnswer {
  const error = {
    type: endpoint === "/v1/messages" ? errorType(status) : status === 429 ? "rate_limit_error" : "server_error",
    message: "The model is overloaded.",
  };
  return { status, body: { error: { ...error, code: null, param: null } } };
}

function completion({ body, customId }: FakeLine): JsonObject {
  const content = `echo: ${lastText(body.messages)}`;
  const [prompt, answer] = [words(JSON.stringify(body.messages ?? "")), words(content)];
  return {
    id: `chatcmpl-${hashOf(customId).toString(16)}`,
    object: "chat.completion",
    created: 1_700_000_000,
    model: body.model ?? "",
    choices: [
      { index: 0, message: { role: "assistant", content, refusal: null }, logprobs: null, finish_reason: "stop" },
    ],
    usage: { prompt_tokens: prompt, completion_tokens: answer, total_tokens: prompt + answer },
  };
}

function message({ body, customId }: FakeLine): JsonObject {
  const text = `echo: ${lastText(body.messages)}`;
  return {
    id: `msg_${hashOf(customId).toString(16)}`,
    type: "message",
    role: "assistant",
    model: body.model ?? "",
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: words(JSON.stringify(body.messages ?? "")), output_tokens: words(text) },
  };
}

/** Gemini's answer, without a model name, because the request has none. */
function generated({ body, customId }: FakeLine): JsonObject {
  const text = `echo: ${textOf(Array.isArray(body.contents) ? body.contents.at(-1) : undefined)}`;
  const [prompt, answer] = [words(JSON.stringify(body.contents ?? "")), words(text)];
  return {
    candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: prompt, candidatesTokenCount: answer, totalTokenCount: prompt + answer },
    responseId: hashOf(customId).toString(16),
  };
}

function embedded({ body }: FakeLine): JsonObject {
  const text = textOf(body.content);
  const values = Array.from({ length: Number(body.outputDimensionality ?? DIMENSIONS) }, seededRandom(hashOf(text)));
  return { embedding: { values }, tokenCount: String(words(text)) };
}

/** The texts of a Gemini content. */
function textOf(content: Json | undefined): string {
  const { parts } = (content ?? {}) as { readonly parts?: readonly { readonly text?: string }[] };
  return (parts ?? []).map(({ text = "" }) => text).join("");
}

function embeddings({ body }: FakeLine): JsonObject {
  const { input } = body;
  const texts = Array.isArray(input) && typeof input[0] !== "number" ? input : [input];
  const data = texts.map((text, index) => {
    const random = seededRandom(hashOf(JSON.stringify(text ?? "")));
    return { object: "embedding", index, embedding: Array.from({ length: DIMENSIONS }, random) };
  });
  const tokens = words(JSON.stringify(input ?? ""));
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return { object: "list", data, model: body.model ?? "", usage };
}

function lastText(messages: Json | undefined): string {
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  const content = (last as JsonObject | undefined)?.content;
  if (typeof content === "string") return content;
  return content === undefined ? "" : JSON.stringify(content);
}

function words(text: string): number {
  return Math.max(1, Math.ceil(text.length / 4));
}
