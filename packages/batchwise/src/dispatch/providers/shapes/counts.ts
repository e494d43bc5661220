// Counts in answers of providers, and OpenAI's usage of those that count cached input apart. Pure.

import type { JsonObject } from "../../contract/types.ts";

/** null for what is no count. */
export function countOrNull(value: unknown): number | null {
  return typeof value === "number" && value >= 0 ? value : null;
}

/** 0 for what is no count. */
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
