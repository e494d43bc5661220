// Providers' `usage` objects and the token counts that we read from them.

import { describe, expect, test } from "vitest";
import { toUsage } from "../../../../src/dispatch/providers/shapes/usage.ts";

describe("the usage", () => {
  const nothing = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0, totalTokens: 0 };
  test.each([
    [
      "of a chat completion",
      {
        prompt_tokens: 100,
        completion_tokens: 30,
        total_tokens: 130,
        prompt_tokens_details: { cached_tokens: 64, audio_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 20 },
      },
      { inputTokens: 100, cachedTokens: 64, outputTokens: 30, reasoningTokens: 20, totalTokens: 130 },
    ],
    [
      "of a response",
      {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 64 },
        output_tokens: 30,
        output_tokens_details: { reasoning_tokens: 20 },
        total_tokens: 130,
      },
      { inputTokens: 100, cachedTokens: 64, outputTokens: 30, reasoningTokens: 20, totalTokens: 130 },
    ],
    ["of an embedding", { prompt_tokens: 8, total_tokens: 8 }, { ...nothing, inputTokens: 8, totalTokens: 8 }],
    [
      "of an Anthropic message, whose cached input is counted apart",
      { input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 5 },
      { inputTokens: 130, cachedTokens: 100, outputTokens: 5, reasoningTokens: 0, totalTokens: 135 },
    ],
    [
      "of an Anthropic message without a cache",
      { input_tokens: 10, cache_read_input_tokens: null, cache_creation_input_tokens: null, output_tokens: 5 },
      { ...nothing, inputTokens: 10, outputTokens: 5, totalTokens: 15 },
    ],
    [
      "that says more is cached than there is",
      { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 9 } },
      { ...nothing, inputTokens: 5, cachedTokens: 5, totalTokens: 5 },
    ],
    [
      "with details that are null",
      { prompt_tokens: 5, prompt_tokens_details: null },
      { ...nothing, inputTokens: 5, totalTokens: 5 },
    ],
    ["with counts that are none", { prompt_tokens: "many", completion_tokens: -1 }, nothing],
    [
      "in parts of a token, as proxies estimate them",
      { prompt_tokens: 8.5, completion_tokens: 1.25, total_tokens: 9.75 },
      { ...nothing, inputTokens: 9, outputTokens: 1, totalTokens: 10 },
    ],
    [
      "with more than a request can have",
      { prompt_tokens: 1e30, completion_tokens: Number.MAX_SAFE_INTEGER, total_tokens: 7 },
      { ...nothing, totalTokens: 7 },
    ],
    ["that is none", null, null],
  ])("%s", (_name, wire, counted) => {
    expect(toUsage(wire)).toEqual(counted);
  });
});
