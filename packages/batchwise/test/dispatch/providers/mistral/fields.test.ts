// The conversion of every field of OpenAI's request types: converted, refused, or omitted because
// it cannot change the answer. The lists fail to compile when the SDK gains a field.

import type OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { toEmbeddingRequest, toModerationRequest } from "../../../../src/dispatch/providers/mistral/inputs.ts";
import { toChatRequest } from "../../../../src/dispatch/providers/mistral/request.ts";

/** A value and its conversion: Mistral's name of the field, or why it is refused or omitted. */
type Fate =
  | { readonly value: Json; readonly as: string }
  | { readonly value: Json; readonly refused: true }
  | { readonly value: Json; readonly leftOut: string };
type Fates<Params> = { readonly [Name in keyof Required<Params>]: Fate };

const user = [{ role: "user", content: "Hi" }];
const weather = { type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } };
const WHO = "says who asks, not what";
const CACHE = "a cache gives the same answer";

const CHAT: Fates<OpenAI.Chat.ChatCompletionCreateParams> = {
  messages: { value: user, as: "messages" },
  model: { value: "m", as: "model" },
  audio: { value: { voice: "ash", format: "mp3" }, refused: true },
  frequency_penalty: { value: 0.5, as: "frequency_penalty" },
  function_call: { value: "auto", refused: true },
  functions: { value: [{ name: "f" }], refused: true },
  logit_bias: { value: { "1": 5 }, refused: true },
  logprobs: { value: true, refused: true },
  max_completion_tokens: { value: 5, as: "max_tokens" },
  max_tokens: { value: 6, as: "max_tokens" },
  metadata: { value: { a: "b" }, as: "metadata" },
  modalities: { value: ["text", "audio"], refused: true },
  moderation: { value: { model: "omni-moderation-latest" }, refused: true },
  n: { value: 2, as: "n" },
  parallel_tool_calls: { value: false, as: "parallel_tool_calls" },
  prediction: { value: { type: "content", content: "x" }, as: "prediction" },
  presence_penalty: { value: 0.5, as: "presence_penalty" },
  prompt_cache_key: { value: "k", as: "prompt_cache_key" },
  prompt_cache_options: { value: { mode: "explicit" }, leftOut: CACHE },
  prompt_cache_retention: { value: "24h", leftOut: CACHE },
  reasoning_effort: { value: "high", as: "reasoning_effort" },
  response_format: { value: { type: "json_object" }, as: "response_format" },
  safety_identifier: { value: "u", leftOut: WHO },
  seed: { value: 7, as: "random_seed" },
  service_tier: { value: "flex", leftOut: "a batch has a tier of its own" },
  stop: { value: ["x"], as: "stop" },
  store: { value: true, leftOut: "what OpenAI keeps of it" },
  stream: { value: true, refused: true },
  stream_options: { value: { include_usage: true }, leftOut: "only of a stream, which is refused" },
  temperature: { value: 0, as: "temperature" },
  tool_choice: { value: "required", as: "tool_choice" },
  tools: { value: [weather], as: "tools" },
  top_logprobs: { value: 3, refused: true },
  top_p: { value: 0.9, as: "top_p" },
  user: { value: "u", leftOut: WHO },
  verbosity: { value: "low", refused: true },
  web_search_options: { value: {}, refused: true },
};

const EMBEDDINGS: Fates<OpenAI.EmbeddingCreateParams> = {
  input: { value: ["a", "b"], as: "input" },
  model: { value: "m", as: "model" },
  dimensions: { value: 256, as: "output_dimension" },
  encoding_format: { value: "base64", as: "encoding_format" },
  user: { value: "u", leftOut: WHO },
};

const MODERATIONS: Fates<OpenAI.ModerationCreateParams> = {
  input: { value: ["a", "b"], as: "input" },
  model: { value: "m", as: "model" },
};

const CASES = [
  ["chat completions", CHAT, { model: "m", messages: user }, toChatRequest],
  ["embeddings", EMBEDDINGS, { model: "m", input: "a" }, toEmbeddingRequest],
  ["moderations", MODERATIONS, { model: "m", input: "a" }, toModerationRequest],
] as const;

describe.each(CASES)("every field of OpenAI's %s", (_name, fates, least: JsonObject, convert) => {
  test.each(Object.entries<Fate>(fates))("%s is converted, refused by name, or listed", (name, fate) => {
    const body = { ...least, [name]: fate.value };
    if ("refused" in fate) {
      expect(() => convert(body)).toThrow(`\`${name}\``);
      return;
    }
    const converted = convert(body);
    if ("leftOut" in fate) expect(converted).toEqual(convert(least));
    else expect(Object.keys(converted)).toContain(fate.as);
  });

  test("a field that neither side knows is refused by name", () => {
    expect(() => convert({ ...least, shiny_option: 1 })).toThrow("`shiny_option` has no counterpart there");
  });

  test("a converted value is the one that was given, whatever order the fields come in", () => {
    const given = Object.entries<Fate>(fates).flatMap(([name, fate]) => ("as" in fate ? [[name, fate.value]] : []));
    const body = { ...least, ...Object.fromEntries(given as [string, Json][]) };
    const backwards = Object.fromEntries(Object.entries(body).toReversed());
    expect(convert(backwards)).toEqual(convert(body));
  });
});
