import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { ToolCallIds, toMessages } from "../../../../src/dispatch/providers/mistral/messages.ts";
import { mistralFault } from "../../../../src/dispatch-testing/fake/mistral/bodies.ts";

const user = { role: "user", content: "Hi" };

/** Converts, and checks the result by the fake's rules. */
function convert(...messages: Json[]): JsonObject[] {
  const converted = toMessages(messages);
  const body = { model: "m", messages: converted };
  expect(mistralFault({ customId: "1", endpoint: "/v1/chat/completions", body })).toBeNull();
  return converted;
}

function refusal(...messages: Json[]): string {
  try {
    toMessages(messages);
  } catch (error) {
    return (error as Error).message.replace("The request cannot be sent to Mistral: ", "");
  }
  throw new Error("Expected a refusal.");
}

const called = (...ids: string[]): JsonObject => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: `{"id":"${id}"}` } })),
});

describe("messages as Mistral takes them", () => {
  test("the order stays, and a developer is the system", () => {
    const system = { role: "system", content: "Be brief." };
    const developer = { role: "developer", content: [{ type: "text", text: "In French." }] };
    expect(convert(system, user, developer, user)).toEqual([
      system,
      user,
      { role: "system", content: developer.content },
      user,
    ]);
  });

  test("images, audio and documents are chunks", () => {
    const content = [
      { type: "text", text: "What is this?", prompt_cache_breakpoint: { mode: "explicit" } },
      { type: "image_url", image_url: { url: "https://example.com/a.png", detail: "low" } },
      { type: "image_url", image_url: "https://example.com/b.png" },
      { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } },
      { type: "file", file: { file_id: "f1" } },
      { type: "file", file: { file_data: "data:application/pdf;base64,JVBERg==", filename: "a.pdf" } },
      { type: "document_url", document_url: "https://example.com/a.pdf" },
    ];
    expect(convert({ role: "user", content })[0]?.content).toEqual([
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: "https://example.com/a.png", detail: "low" } },
      { type: "image_url", image_url: "https://example.com/b.png" },
      { type: "input_audio", input_audio: "UklGRg==" },
      { type: "file", file_id: "f1" },
      { type: "document_url", document_url: "data:application/pdf;base64,JVBERg==", document_name: "a.pdf" },
      { type: "document_url", document_url: "https://example.com/a.pdf" },
    ]);
  });

  test("a refusal of the assistant beside words stands behind them", () => {
    expect(convert(user, { role: "assistant", content: "Well.", refusal: "No." }, user)[1]).toEqual({
      role: "assistant",
      content: [
        { type: "text", text: "Well." },
        { type: "text", text: "No." },
      ],
    });
  });

  test("a refusal of the assistant is its text", () => {
    expect(convert(user, { role: "assistant", content: null, refusal: "No." }, user)[1]).toEqual({
      role: "assistant",
      content: "No.",
    });
  });

  test("a prefix of the assistant stays", () => {
    const prefix = { role: "assistant", content: "{", prefix: true };
    expect(convert(user, prefix)[1]).toEqual(prefix);
  });

  test("reasoning goes back as chunks: the signed ones where an answer gave them", () => {
    const signed = { type: "thinking", thinking: [{ type: "text", text: "Hm" }], signature: "s" };
    const answer = { role: "assistant", content: "42", reasoning_content: "Hm" };
    expect(convert(user, answer, user)[1]?.content).toEqual([
      { type: "thinking", thinking: [{ type: "text", text: "Hm" }] },
      { type: "text", text: "42" },
    ]);
    expect(convert(user, { ...answer, thinking_blocks: [signed] }, user)[1]?.content).toEqual([
      signed,
      { type: "text", text: "42" },
    ]);
  });

  test("ids of calls are nine letters and digits, the same in the call and in its result", () => {
    const results = ["call_PTLP8xhu3uwZk4l3nlnrrJha", "abcDEF123"].map((id) => ({
      role: "tool",
      tool_call_id: id,
      content: "ok",
    }));
    const converted = convert(user, called("call_PTLP8xhu3uwZk4l3nlnrrJha", "abcDEF123"), ...results);
    const calls = converted[1]?.tool_calls as readonly JsonObject[];
    expect(calls[0]?.id).toMatch(/^[A-Za-z0-9]{9}$/);
    expect(calls[1]?.id).toBe("abcDEF123");
    expect(converted.slice(2).map(({ tool_call_id }) => tool_call_id)).toEqual(calls.map(({ id }) => id));
    expect(calls[0]?.function).toEqual({ name: "f", arguments: '{"id":"call_PTLP8xhu3uwZk4l3nlnrrJha"}' });
  });

  test.each<[string, JsonObject, string]>([
    ["a name", { role: "user", content: "Hi", name: "Ann" }, "`messages[0].name` has no counterpart there."],
    [
      "a function's result",
      { role: "function", content: "x" },
      '`messages[0].role` "function" has no counterpart there.',
    ],
    ["no content", { role: "user" }, "`messages[0].content` must be a text or an array."],
    [
      "an unknown part",
      { role: "user", content: [{ type: "video", video: {} }] },
      '`messages[0].content[0]` of type "video" has no counterpart there.',
    ],
    [
      "an unknown mark",
      { role: "user", content: [{ type: "text", text: "x", bold: true }] },
      "`messages[0].content[0].bold` has no counterpart there.",
    ],
    [
      "a file without data",
      { role: "user", content: [{ type: "file", file: {} }] },
      "`messages[0].content[0].file` must have a file_id or a data URL.",
    ],
    ["a result of no call", { role: "tool", content: "x" }, "`messages[0].tool_call_id` is missing."],
    ["spoken words", { role: "assistant", audio: { id: "a" } }, "`messages[0].audio` has no counterpart there."],
    [
      "a custom tool's call",
      { role: "assistant", tool_calls: [{ id: "a", type: "custom", custom: {} }] },
      "`messages[0].tool_calls[0]` other than a function has no counterpart there.",
    ],
  ])("%s is refused in words", (_case, message, words) => {
    expect(refusal(message)).toBe(words);
  });
});

describe("ids of tool calls", () => {
  test("two ids are never one, also where a made one is taken", () => {
    const ids = new ToolCallIds();
    const made = ids.of("call_1");
    const others = new ToolCallIds();
    expect(others.of(made)).toBe(made);
    expect(others.of("call_1")).not.toBe(made);
    const many = Array.from({ length: 2_000 }, (_, n) => ids.of(`call_${n}`));
    expect(new Set(many).size).toBe(2_000);
    expect(many.every((id) => /^[A-Za-z0-9]{9}$/.test(id))).toBe(true);
  });
});
