// Tokens as providers count them, in our words: the usage of a chat completion, a response, an
// embedding or an Anthropic message. Pure; trusts nothing that it reads. Cached tokens are among
// the input tokens, reasoning ones among the output.

import type { Usage } from "../../contract/types.ts";
import { jsonObject, objectOf } from "./sdk-error.ts";

const MOST_TOKENS = 1e9;

/**
 * Null where there is no usage. What an Anthropic message has read from its cache counts as cached
 * input; what it has written there counts as input like any other, although it costs more.
 */
export function toUsage(wire: unknown): Usage | null {
  const usage = jsonObject(wire);
  if (usage === null) return null;
  const read = count(usage.cache_read_input_tokens);
  // Anthropic counts cached input apart; OpenAI's count of the input holds all of it.
  const apart = (read ?? 0) + (count(usage.cache_creation_input_tokens) ?? 0);
  const inputTokens = (count(usage.prompt_tokens) ?? count(usage.input_tokens) ?? 0) + apart;
  const outputTokens = count(usage.completion_tokens) ?? count(usage.output_tokens) ?? 0;
  const input = objectOf(usage.prompt_tokens_details ?? usage.input_tokens_details);
  const output = objectOf(usage.completion_tokens_details ?? usage.output_tokens_details);
  return {
    inputTokens,
    cachedTokens: Math.min(inputTokens, read ?? count(input.cached_tokens) ?? 0),
    outputTokens,
    reasoningTokens: Math.min(outputTokens, count(output.reasoning_tokens) ?? count(output.thinking_tokens) ?? 0),
    totalTokens: count(usage.total_tokens) ?? inputTokens + outputTokens,
  };
}

/**
 * A whole number, since stores add these up in columns of such. More than a request can have is no
 * count: it would break the sums of all others.
 */
function count(value: unknown): number | null {
  return typeof value === "number" && value >= 0 && value <= MOST_TOKENS ? Math.round(value) : null;
}
