import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../../src/dispatch/contract/types.ts";
import { toMessageParams } from "../../../../../src/dispatch/providers/shapes/anthropic/request.ts";
import { paramsFault } from "../../../../../src/dispatch-testing/fake/anthropic/params.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUg==";
const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "Weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    strict: true,
  },
};
const hi = [{ role: "user", content: "Hi" }];

/** Converts, and checks the result by the fake's rules. */
function convert(body: JsonObject): JsonObject {
  const params = toMessageParams({ model: "model-a", ...body }, 1_000);
  expect(paramsFault(params)).toBeNull();
  return params;
}

function withCalls(...ids: string[]): JsonObject {
  const tool_calls = ids.map((id) => ({
    id,
    type: "function",
    function: { name: "weather", arguments: `{"city":"${id}"}` },
  }));
  return { role: "assistant", content: null, tool_calls };
}

describe("a chat request as params of a message", () => {
  test("the least there is: model, messages, and the default limit", () => {
    expect(convert({ messages: hi })).toEqual({ model: "model-a", max_tokens: 1_000, messages: hi });
  });

  test("sampling keeps a zero, the newer limit wins over the older", () => {
    const body = { messages: hi, temperature: 0, top_p: 0, max_tokens: 7, max_completion_tokens: 9, top_k: 3 };
    expect(convert(body)).toMatchObject({ temperature: 0, top_p: 0, max_tokens: 9, top_k: 3 });
    expect(convert({ messages: hi, temperature: null, max_tokens: 7 })).toEqual({
      model: "model-a",
      max_tokens: 7,
      messages: hi,
    });
  });

  test.each([
    ["a text", "END", ["END"]],
    ["a list", ["a", "b"], ["a", "b"]],
    ["nothing", null, undefined],
    ["an empty list", [], undefined],
  ])("stop as %s", (_case, stop, expected) => {
    expect(convert({ messages: hi, stop }).stop_sequences).toEqual(expected);
  });

  test("the user's name becomes metadata", () => {
    expect(convert({ messages: hi, user: "u1" }).metadata).toEqual({ user_id: "u1" });
    expect(convert({ messages: hi, safety_identifier: "u2" }).metadata).toEqual({ user_id: "u2" });
  });

  test("system and developer texts stand apart, in order", () => {
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hi" },
      { role: "developer", content: [{ type: "text", text: "Use French.", cache_control: { type: "ephemeral" } }] },
    ];
    expect(convert({ messages })).toMatchObject({
      system: [
        { type: "text", text: "Be brief." },
        { type: "text", text: "Use French.", cache_control: { type: "ephemeral" } },
      ],
      messages: hi,
    });
    expect(convert({ messages: messages.slice(0, 2) }).system).toBe("Be brief.");
  });

  test("images as data and as addresses, and a PDF", () => {
    const content = [
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}`, detail: "low" } },
      { type: "image_url", image_url: { url: "https://example.com/a.jpg" } },
      { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" } },
    ];
    expect(convert({ messages: [{ role: "user", content }] }).messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
          { type: "image", source: { type: "url", url: "https://example.com/a.jpg" } },
          {
            type: "document",
            source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
            title: "a.pdf",
          },
        ],
      },
    ]);
  });

  test("tools, with a schema that lacks its type or is absent", () => {
    const bare = { type: "function", function: { name: "now" } };
    const loose = { type: "function", function: { name: "loose", parameters: { properties: {} } } };
    expect(convert({ messages: hi, tools: [weather, bare, loose] }).tools).toEqual([
      {
        name: "weather",
        description: "Weather of a city",
        input_schema: weather.function.parameters,
        strict: true,
      },
      { name: "now", input_schema: { type: "object", properties: {} } },
      { name: "loose", input_schema: { type: "object", properties: {} } },
    ]);
  });

  test.each([
    ["auto", "auto", undefined, { type: "auto" }],
    ["none", "none", undefined, { type: "none" }],
    ["required", "required", undefined, { type: "any" }],
    ["a name", { type: "function", function: { name: "weather" } }, undefined, { type: "tool", name: "weather" }],
    ["nothing", undefined, undefined, undefined],
    ["nothing, one at a time", undefined, false, { type: "auto", disable_parallel_tool_use: true }],
    ["required, one at a time", "required", false, { type: "any", disable_parallel_tool_use: true }],
    ["none, one at a time", "none", false, { type: "none" }],
    ["auto, several at a time", "auto", true, { type: "auto" }],
  ])("tool choice: %s", (_case, tool_choice, parallel_tool_calls, expected) => {
    const body = { messages: hi, tools: [weather], tool_choice, parallel_tool_calls };
    expect(convert(body as JsonObject).tool_choice).toEqual(expected);
  });

  test("a choice without tools is left out", () => {
    expect(convert({ messages: hi, tools: [], tool_choice: "auto", parallel_tool_calls: false })).toEqual(
      convert({ messages: hi }),
    );
  });

  test("calls become blocks, and the results of parallel calls share the next user's turn", () => {
    const messages = [
      { role: "user", content: "Weather?" },
      { ...withCalls("a", "b"), content: "I look." },
      { role: "tool", tool_call_id: "a", content: "sun" },
      { role: "tool", tool_call_id: "b", content: [{ type: "text", text: "rain" }] },
      { role: "user", content: "And?" },
    ];
    expect(convert({ messages, tools: [weather] }).messages).toEqual([
      { role: "user", content: "Weather?" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I look." },
          { type: "tool_use", id: "a", name: "weather", input: { city: "a" } },
          { type: "tool_use", id: "b", name: "weather", input: { city: "b" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: "sun" },
          { type: "tool_result", tool_use_id: "b", content: "rain" },
          { type: "text", text: "And?" },
        ],
      },
    ]);
  });

  test("a tool that said nothing and a call without arguments", () => {
    const call = { id: "a", type: "function", function: { name: "now", arguments: "" } };
    const messages = [
      { role: "user", content: "Time?" },
      { role: "assistant", content: "", tool_calls: [call] },
      { role: "tool", tool_call_id: "a", content: "" },
    ];
    const tools = [{ type: "function", function: { name: "now" } }];
    expect(convert({ messages, tools }).messages).toMatchObject([
      {},
      { content: [{ type: "tool_use", id: "a", name: "now", input: {} }] },
      { content: [{ type: "tool_result", tool_use_id: "a" }] },
    ]);
  });

  test("turns of one side that follow each other are one", () => {
    const messages = [
      { role: "user", content: "One." },
      { role: "user", content: "Two." },
      { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
      { role: "assistant", content: "Yes." },
    ];
    expect(convert({ messages }).messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "One." },
          { type: "text", text: "Two." },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "No." },
          { type: "text", text: "Yes." },
        ],
      },
    ]);
  });

  test("a JSON schema for the answer, and effort", () => {
    const schema = { type: "object", properties: {}, additionalProperties: false };
    const body = {
      messages: hi,
      response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } },
      reasoning_effort: "minimal",
    };
    expect(convert(body).output_config).toEqual({ format: { type: "json_schema", schema }, effort: "low" });
    expect(convert({ messages: hi, response_format: { type: "text" } })).not.toHaveProperty("output_config");
  });

  test("hints without a counterpart are omitted, and so are empty ones", () => {
    const hints = {
      seed: 1,
      store: true,
      metadata: { a: "b" },
      n: 1,
      presence_penalty: 0,
      logprobs: false,
      logit_bias: {},
      modalities: ["text"],
      stream: false,
    };
    expect(convert({ messages: hi, ...hints })).toEqual(convert({ messages: hi }));
  });
});

describe("fields that Anthropic does not have are refused by name", () => {
  const image = (url: string): JsonObject => ({
    messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }],
  });

  test.each<[string, JsonObject, string]>([
    ["several answers", { messages: hi, n: 2 }, "`n`"],
    ["log probabilities", { messages: hi, logprobs: true }, "`logprobs`"],
    ["a penalty", { messages: hi, frequency_penalty: 0.5 }, "`frequency_penalty`"],
    ["a bias", { messages: hi, logit_bias: { "1": 5 } }, "`logit_bias`"],
    ["a field of nobody", { messages: hi, temprature: 1 }, "`temprature`"],
    ["old functions", { messages: hi, functions: [] }, "`functions`"],
    ["a stream", { messages: hi, stream: true }, "`stream`"],
    ["a hot temperature", { messages: hi, temperature: 1.5 }, "`temperature` above 1"],
    ["a temperature below 0", { messages: hi, temperature: -1 }, "`temperature` must be a number from 0 to 1, not -1"],
    ["a temperature in words", { messages: hi, temperature: "hot" }, 'not "hot"'],
    ["a top_p above 1", { messages: hi, top_p: 2 }, "`top_p` must be a number from 0 to 1, not 2"],
    ["a limit of nothing", { messages: hi, max_tokens: 0 }, "`max_tokens` must be a whole number from 1, not 0"],
    ["a limit below 0", { messages: hi, max_completion_tokens: -5 }, "`max_completion_tokens` must be"],
    ["a limit in words", { messages: hi, max_tokens: "many" }, 'not "many"'],
    ["a broken limit", { messages: hi, max_tokens: 1.5 }, "not 1.5"],
    ["a field named like a method of all objects", { messages: hi, constructor: 1 }, "`constructor`"],
    ["an effort named like one", { messages: hi, reasoning_effort: "constructor" }, "`reasoning_effort`"],
    ["speech", { messages: hi, modalities: ["text", "audio"] }, "`modalities`"],
    ["a blank stop", { messages: hi, stop: ["\n"] }, "`stop`"],
    ["loose JSON", { messages: hi, response_format: { type: "json_object" } }, "`response_format`"],
    ["an effort of nobody", { messages: hi, reasoning_effort: "huge" }, "`reasoning_effort`"],
    ["a custom tool", { messages: hi, tools: [{ type: "custom", custom: { name: "x" } }] }, "`tools[0]`"],
    ["allowed tools", { messages: hi, tools: [weather], tool_choice: { type: "allowed_tools" } }, "`tool_choice`"],
    ["no messages", { messages: [] }, "`messages`"],
    ["messages that are a text", { messages: "Hi" }, "`messages`"],
    ["only a system text", { messages: [{ role: "system", content: "x" }] }, "first turn"],
    ["an assistant first", { messages: [{ role: "assistant", content: "x" }] }, "first turn"],
    ["another role", { messages: [{ role: "function", content: "x" }] }, "`messages[0].role`"],
    ["an empty turn", { messages: [{ role: "user", content: "" }] }, "`messages[0].content`"],
    [
      "a part of text without one",
      { messages: [{ role: "user", content: [{ type: "text" }, { type: "text", text: "Hi" }] }] },
      "`messages[0].content[0].text`",
    ],
    [
      "a part of text that is an object",
      { messages: [{ role: "user", content: [{ type: "text", text: { a: 1 } }] }] },
      "`messages[0].content[0].text`",
    ],
    ["sound", { messages: [{ role: "user", content: [{ type: "input_audio" }] }] }, "`messages[0].content[0]`"],
    ["a plain http image", image("http://example.com/a.png"), "an image other than"],
    ["a TIFF", image("data:image/tiff;base64,AAAA"), "an image other than"],
    [
      "broken arguments",
      { messages: [...hi, { role: "assistant", tool_calls: [{ id: "a", function: { name: "f", arguments: "{" } }] }] },
      "arguments` must be a JSON object in a text",
    ],
    [
      "arguments that are a list",
      { messages: [...hi, { role: "assistant", tool_calls: [{ id: "a", function: { name: "f", arguments: "[]" } }] }] },
      "must be a JSON object in a text",
    ],
    ["a result of no call", { messages: [...hi, { role: "tool", content: "x" }] }, "`messages[1].tool_call_id`"],
  ])("%s", (_case, body, place) => {
    let refused: unknown;
    try {
      toMessageParams({ model: "model-a", ...body }, 1_000);
    } catch (error) {
      refused = error;
    }
    expect(refused).toMatchObject({ code: "INVALID_REQUEST", retryable: false });
    expect((refused as Error).message).toContain(place);
  });
});
