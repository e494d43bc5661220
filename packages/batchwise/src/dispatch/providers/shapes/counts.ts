// Reads counts in answers of providers, and builds OpenAI's usage for providers that count cached
// input separately. Pure.

import type { JsonObject } from "../../contract/types.ts";

/** The count; null if `value` is not one. */
export function countOrNull(value: unknown): number | null {
  return typeof value === "number" && value >= 0 ? value : null;
}

/** The count; 0 if `value` is not one. */
export function count(value: unknown): number {
  return countOrNull(value) ?? 0;
}

/** Tokens: `read` from a prompt cache and `written` to it are not among `input`. */
interface CountsApart {
  readonly input: unknown;
  readonly output: unknown;
  readonly read: unknown;
  readonly written: unknown;
}

/** As OpenAI counts: `prompt_tokens` include cached input. */
export function usageTogether({ input, output, ...cache }: CountsApart): JsonObject {
  const [read, written] = [count(cache.read), count(cache.written)];
  const prompt = count(input) + read + written;
  return {
    prompt_tokens: prompt,
    completion_tokens: count(output),
    total_tokens: prompt + count(output),
    prompt_tokens_details: { cached_tokens: read, cache_creation_tokens: written },
  };
}
