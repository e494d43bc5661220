import { expect, test } from "vitest";
import { turnsAfter, withTurns } from "../../../../src/dispatch/batches/collect/answer-turns.ts";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";

const why = "It is not JSON. Answer again, in full, without this mistake.";

/** The body with the turns of this answer, and these alone. */
function asked(endpoint: string, answer: JsonObject, body: JsonObject = { model: "m" }): JsonObject | null {
  const turns = turnsAfter(endpoint, answer, "It is not JSON.");
  return turns === null ? null : (JSON.parse(withTurns(JSON.stringify(body), turns)) as JsonObject);
}

const chat = (message: JsonObject): JsonObject => ({ choices: [{ message, finish_reason: "stop" }] });
const call = { id: "c1", type: "function", function: { name: "f", arguments: "{" } };

test("a chat continues with the answer and the reason; a call of a tool gets the reason as its result", () => {
  const messages = [{ role: "user", content: "q" }];
  const text = asked("/v1/chat/completions", chat({ role: "assistant", content: "a" }), { model: "m", messages });
  expect(text).toEqual({
    model: "m",
    messages: [...messages, { role: "assistant", content: "a" }, { role: "user", content: why }],
  });
  expect(asked("/v1/chat/completions", chat({ content: null, tool_calls: [call] }))?.messages).toEqual([
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", content: why },
  ]);
});

test("Responses continues in its input, which may have been a text, without ids and reasoning", () => {
  const output = [
    { type: "reasoning", id: "rs_1", summary: [] },
    { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "a" }] },
  ];
  const body = { model: "m", input: "q" };
  expect(asked("/v1/responses", { output }, body)?.input).toEqual([
    { role: "user", content: "q" },
    { role: "assistant", content: "a" },
    { role: "user", content: why },
  ]);
  const called = { type: "function_call", id: "fc_1", call_id: "c1", name: "f", arguments: "{" };
  expect(asked("/v1/responses", { output: [called] })?.input).toEqual([
    { type: "function_call", call_id: "c1", name: "f", arguments: "{" },
    { type: "function_call_output", call_id: "c1", output: why },
  ]);
});

test("Messages continues with all blocks but empty texts, so that signatures of thinking stay", () => {
  const thinking = { type: "thinking", thinking: "…", signature: "s" };
  const said = { content: [thinking, { type: "text", text: " \n" }, { type: "text", text: "a" }] };
  expect(asked("/v1/messages", said)?.messages).toEqual([
    { role: "assistant", content: [thinking, { type: "text", text: "a" }] },
    { role: "user", content: why },
  ]);
  const used = { type: "tool_use", id: "t1", name: "f", input: {} };
  expect(asked("/v1/messages", { content: [used] })?.messages).toEqual([
    { role: "assistant", content: [used] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", is_error: true, content: why }] },
  ]);
});

test("Gemini continues in its contents", () => {
  const ended = (...parts: JsonObject[]) => ({ candidates: [{ content: { role: "model", parts } }] });
  const contents = [{ role: "user", parts: [{ text: "q" }] }];
  const part = { text: "a", thoughtSignature: "s" };
  expect(asked("/v1beta/generateContent", ended(part), { contents })?.contents).toEqual([
    ...contents,
    { role: "model", parts: [part] },
    { role: "user", parts: [{ text: why }] },
  ]);
  const called = { functionCall: { name: "f", args: {} } };
  expect(asked("/v1beta/generateContent", ended(called))?.contents).toEqual([
    { role: "model", parts: [called] },
    { role: "user", parts: [{ functionResponse: { name: "f", response: { error: why } } }] },
  ]);
});

test.each([
  ["an empty chat", "/v1/chat/completions", chat({ content: "" })],
  ["a chat without choices", "/v1/chat/completions", { choices: [] }],
  ["an empty response", "/v1/responses", { output: [{ type: "reasoning" }] }],
  ["a message of thinking alone", "/v1/messages", { content: [{ type: "thinking", thinking: "…" }] }],
  ["an empty candidate", "/v1beta/generateContent", { candidates: [{ content: { parts: [{ text: "" }] } }] }],
  ["a completion, which has no turns", "/v1/completions", { choices: [{ text: "a" }] }],
  ["nonsense", "/v1/chat/completions", { choices: [null, 3] }],
] as [string, string, JsonObject][])("%s gives no turns", (_name, endpoint, answer) => {
  expect(asked(endpoint, answer)).toBeNull();
});

test("without turns a body is the same text", () => {
  expect(withTurns('{ "a": 1 }', null)).toBe('{ "a": 1 }');
});
