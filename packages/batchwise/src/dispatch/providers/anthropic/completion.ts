// An Anthropic message as a chat completion in OpenAI's shape. Pure.

import type { JsonObject } from "../../contract/types.ts";
import { jsonObject, objectOf, text } from "../shapes/sdk-error.ts";

const FINISH_REASONS: ReadonlyMap<unknown, string> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["pause_turn", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
]);

/** `createdAt` is the batch's: a message has no time of its own. */
export function toCompletion(message: JsonObject, createdAt: number): JsonObject {
  const finish = FINISH_REASONS.get(message.stop_reason) ?? "stop";
  return {
    id: message.id,
    object: "chat.completion",
    created: Math.floor(createdAt / 1000),
    model: message.model,
    choices: [{ index: 0, message: toAnswer(blocksOf(message)), logprobs: null, finish_reason: finish }],
    usage: toUsageBody(objectOf(message.usage)),
  };
}

function blocksOf(message: JsonObject): readonly JsonObject[] {
  const content: readonly unknown[] = Array.isArray(message.content) ? message.content : [];
  return content.map(jsonObject).filter((block) => block !== null);
}

function toAnswer(blocks: readonly JsonObject[]): JsonObject {
  const texts = blocks.filter(({ type }) => type === "text");
  const thoughts = blocks.flatMap(({ type, thinking }) => (type === "thinking" ? (text(thinking) ?? []) : []));
  const calls = blocks.filter(({ type }) => type === "tool_use").map(toToolCall);
  return {
    role: "assistant",
    content: texts.length === 0 ? null : texts.map((block) => text(block.text) ?? "").join(""),
    refusal: null,
    ...(thoughts.length === 0 ? {} : { reasoning_content: thoughts.join("") }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function toToolCall({ id, name, input }: JsonObject): JsonObject {
  return { id, type: "function", function: { name, arguments: JSON.stringify(input ?? {}) } };
}

/** Anthropic counts cached input apart; OpenAI's `prompt_tokens` holds all of it. */
function toUsageBody(usage: { readonly [key: string]: unknown }): JsonObject {
  const [read, written] = [count(usage.cache_read_input_tokens), count(usage.cache_creation_input_tokens)];
  const prompt = count(usage.input_tokens) + read + written;
  const completion = count(usage.output_tokens);
  const thinking = objectOf(usage.output_tokens_details).thinking_tokens;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: read, cache_creation_tokens: written },
    ...(typeof thinking === "number" ? { completion_tokens_details: { reasoning_tokens: thinking } } : {}),
  };
}

function count(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
