// Converts token counts of a chat completion, a response, an embedding or an Anthropic message.
// Input includes cached tokens, output includes reasoning. Trusts no type. Pure.

import type { Usage } from "../../contract/types.ts";
import { jsonObject, objectOf } from "./sdk/sdk-error.ts";

const MOST_TOKENS = 1e9;
const PARTS = ["prompt_tokens", "input_tokens", "completion_tokens", "output_tokens"];

/**
 * Null if there is no usage. Anthropic's cache reads count as cached input, cache writes as
 * ordinary input, although they cost more.
 */
export function toUsage(wire: unknown): Usage | null {
  const usage = jsonObject(wire);
  if (usage === null) return null;
  const read = count(usage.cache_read_input_tokens);
  // Anthropic counts cached input separately; OpenAI's input count includes it.
  const apart = (read ?? 0) + (count(usage.cache_creation_input_tokens) ?? 0);
  // Voyage counts only the sum.
  const sum = PARTS.every((name) => usage[name] === undefined) ? count(usage.total_tokens) : null;
  const inputTokens = (count(usage.prompt_tokens) ?? count(usage.input_tokens) ?? sum ?? 0) + apart;
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
 * A whole number, as stores need for sums. A count above any possible request is ignored: it would
 * spoil all sums.
 */
function count(value: unknown): number | null {
  return typeof value === "number" && value >= 0 && value <= MOST_TOKENS ? Math.round(value) : null;
}
