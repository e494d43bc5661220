// Converts Gemini's UsageMetadata to `usage` in OpenAI's format. The wire omits zero counts. Pure.

import type { JsonObject } from "../../../contract/types.ts";

/** Reasoning counts as output and tool results as input, as both are billed. */
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

/** 64-bit numbers are strings in protocol buffer JSON. */
export function count(value: unknown): number {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && number > 0 ? number : 0;
}
