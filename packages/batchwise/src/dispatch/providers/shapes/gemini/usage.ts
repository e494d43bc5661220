// Gemini's UsageMetadata as `usage` in OpenAI's shape. Pure. Counts that are zero are left out on
// the wire.

import type { JsonObject } from "../../../contract/types.ts";

/** Thoughts are output, and what tools gave the model is input, as both are billed. */
export function toUsageBody(usage: { readonly [key: string]: unknown }): JsonObject {
  const prompt = count(usage.promptTokenCount) + count(usage.toolUsePromptTokenCount);
  const thoughts = count(usage.thoughtsTokenCount);
  const completion = count(usage.candidatesTokenCount) + thoughts;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: count(usage.cachedContentTokenCount) },
    completion_tokens_details: { reasoning_tokens: thoughts },
  };
}

/** Numbers of 64 bits are texts in the JSON of protocol buffers. */
export function count(value: unknown): number {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && number > 0 ? number : 0;
}
