import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { toChatRequest } from "../../../../src/dispatch/providers/mistral/request.ts";
import { mistralFault } from "../../../../src/dispatch-testing/fake/mistral/bodies.ts";

const hi = [{ role: "user", content: "Hi" }];
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const weather = { type: "function", function: { name: "weather", description: "Weather", parameters, strict: true } };

/** Converts, and checks the result by the fake's rules. */
function convert(body: JsonObject): JsonObject {
  const converted = toChatRequest({ model: "m", messages: hi, ...body });
  expect(mistralFault({ customId: "1", endpoint: "/v1/chat/completions", body: converted })).toBeNull();
  return converted;
}

function refusal(body: JsonObject): string {
  try {
    toChatRequest({ model: "m", messages: hi, ...body });
  } catch (error) {
    expect(error).toMatchObject({ code: "INVALID_REQUEST" });
    return (error as Error).message;
  }
  throw new Error("Expected a refusal.");
}

describe("a chat request as Mistral takes it", () => {
  test("the least there is: model and messages", () => {
    expect(convert({})).toEqual({ model: "m", messages: hi });
  });

  test("the newer limit wins over the older, and has Mistral's name", () => {
    expect(convert({ max_tokens: 7, max_completion_tokens: 9 })).toEqual({ model: "m", messages: hi, max_tokens: 9 });
    expect(convert({ max_tokens: 7, max_completion_tokens: null })).toMatchObject({ max_tokens: 7 });
  });

  test("sampling keeps its zeros, and the seed has Mistral's name", () => {
    const same = { temperature: 0, top_p: 0, frequency_penalty: 0, presence_penalty: -1, n: 2, stop: ["a", "b"] };
    expect(convert({ ...same, seed: 0 })).toEqual({ model: "m", messages: hi, ...same, random_seed: 0 });
  });

  test("Mistral's own fields stay, and its seed gives way to OpenAI's", () => {
    const own = { safe_prompt: true, prompt_mode: "reasoning", guardrails: [] };
    expect(convert({ ...own, random_seed: 3 })).toMatchObject({ ...own, random_seed: 3 });
    expect(convert({ random_seed: 3, seed: 4 }).random_seed).toBe(4);
  });

  test.each([
    ["required", "any"],
    ["any", "any"],
    ["auto", "auto"],
    ["none", "none"],
    [
      { type: "function", function: { name: "weather" } },
      { type: "function", function: { name: "weather" } },
    ],
  ])("tool_choice %j becomes %j", (choice, expected) => {
    expect(convert({ tools: [weather], tool_choice: choice }).tool_choice).toEqual(expected);
  });

  test("tools go with their schema; one without parameters gets an empty schema", () => {
    const bare = { type: "function", function: { name: "now" } };
    const search = { type: "web_search" };
    expect(convert({ tools: [weather, bare, search] }).tools).toEqual([
      weather,
      { type: "function", function: { name: "now", parameters: { type: "object", properties: {} } } },
      search,
    ]);
    expect(convert({ tools: [] })).toEqual({ model: "m", messages: hi });
  });

  test.each([
    [{ type: "text" }],
    [{ type: "json_object" }],
    [{ type: "json_schema", json_schema: { name: "answer", schema: parameters, strict: true } }],
  ])("response_format %j stays", (format) => {
    expect(convert({ response_format: format }).response_format).toEqual(format);
  });

  test("a prediction is one text", () => {
    const parts = {
      type: "content",
      content: [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    };
    expect(convert({ prediction: parts }).prediction).toEqual({ type: "content", content: "ab" });
    expect(convert({ prediction: { type: "content", content: "x" } }).prediction).toEqual({
      type: "content",
      content: "x",
    });
  });

  test("fields that are null request nothing", () => {
    expect(
      convert({ seed: null, tools: null, tool_choice: null, response_format: null, audio: null, n: null }),
    ).toEqual({
      model: "m",
      messages: hi,
    });
  });

  test.each<[JsonObject, string]>([
    [{ stream: true }, "`stream` is not possible in a batch"],
    [{ logprobs: true }, "`logprobs` has no counterpart there"],
    [{ reasoning_effort: "max" }, '`reasoning_effort` "max" has no counterpart there'],
    [
      { tools: [{ type: "custom", custom: { name: "x" } }] },
      "`tools[0]` other than a function has no counterpart there",
    ],
    [{ tools: [{ type: "function", function: {} }] }, "`tools[0].function.name` is missing"],
    [{ tools: {} }, "`tools` must be an array"],
    [{ tool_choice: { type: "allowed_tools" } }, "this `tool_choice` has no counterpart there"],
    [{ response_format: { type: "grammar" } }, '`response_format` "grammar" has no counterpart there'],
    [{ response_format: { type: "json_schema" } }, "`response_format.json_schema` must have a `schema`"],
    [{ prediction: { type: "other" } }, "a `prediction` other than text has no counterpart there"],
    [{ modalities: ["audio"] }, "`modalities` has no counterpart there"],
    [{ messages: [] }, "`messages` must be a non-empty array"],
  ])("%j is refused in words", (body, words) => {
    expect(refusal(body)).toBe(`The request cannot be sent to Mistral: ${words}.`);
  });
});
