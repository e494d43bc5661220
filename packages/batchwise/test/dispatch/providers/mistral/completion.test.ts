import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { toAnswer } from "../../../../src/dispatch/providers/mistral/completion.ts";

const CHAT = "/v1/chat/completions";

function answer(message: JsonObject, finish = "stop"): JsonObject {
  const body = { id: "1", object: "chat.completion", created: 5, model: "m", usage: { total_tokens: 3 } };
  const choices = [{ index: 0, message: { role: "assistant", prefix: false, ...message }, finish_reason: finish }];
  const converted = toAnswer(CHAT, { ...body, choices });
  expect(converted).toMatchObject(body);
  return (converted.choices as readonly JsonObject[])[0] as JsonObject;
}

describe("an answer of Mistral in OpenAI's shape", () => {
  test("a plain text", () => {
    expect(answer({ content: "Hello", tool_calls: null })).toEqual({
      index: 0,
      message: { role: "assistant", content: "Hello", refusal: null },
      logprobs: null,
      finish_reason: "stop",
    });
  });

  test("chunks of a reasoning model: text, thoughts, and the chunks to give back", () => {
    const thinking = {
      type: "thinking",
      thinking: [
        { type: "text", text: "Hm" },
        { type: "text", text: "m" },
      ],
    };
    const reference = { type: "reference", reference_ids: [1] };
    const content = [thinking, { type: "text", text: "It is " }, reference, { type: "text", text: "42" }];
    expect(answer({ content }).message).toEqual({
      role: "assistant",
      content: "It is 42",
      refusal: null,
      reasoning_content: "Hmm",
      thinking_blocks: [thinking],
      content_chunks: [reference],
    });
  });

  test("calls of tools, with arguments as text", () => {
    const tool_calls = [
      { id: "a12345678", function: { name: "f", arguments: '{"x":1}' }, index: 0 },
      { id: "b12345678", type: "function", function: { name: "g", arguments: { y: 2 } } },
    ];
    const { message, finish_reason: finish } = answer({ content: "", tool_calls }, "tool_calls");
    expect(finish).toBe("tool_calls");
    expect((message as JsonObject).tool_calls).toEqual([
      { id: "a12345678", type: "function", function: { name: "f", arguments: '{"x":1}' } },
      { id: "b12345678", type: "function", function: { name: "g", arguments: '{"y":2}' } },
    ]);
  });

  test.each([
    ["length", "length"],
    ["model_length", "length"],
    ["error", "error"],
  ])("the end %s is %s", (given, expected) => {
    expect(answer({ content: "x" }, given).finish_reason).toBe(expected);
  });

  test("a moderation says whether anything is flagged", () => {
    const results = [
      { categories: { pii: false, hate: true }, category_scores: { pii: 0, hate: 0.9 } },
      { categories: { pii: false }, category_scores: { pii: 0 } },
    ];
    const { results: converted } = toAnswer("/v1/moderations", { id: "1", model: "m", results });
    expect(converted).toEqual([
      { flagged: true, ...results[0] },
      { flagged: false, ...results[1] },
    ]);
  });

  test("an answer of an endpoint that only Mistral has stays as it is", () => {
    const body = { choices: [{ message: { content: "x", tool_calls: null } }], results: [{}] };
    expect(toAnswer("/v1/fim/completions", body)).toBe(body);
    expect(toAnswer("/v1/ocr", body)).toBe(body);
  });
});
