import { describe, expect, test } from "vitest";
import { classify } from "../../../../src/dispatch/providers/anthropic/classify.ts";
import { toProviderBatch, toResultLine } from "../../../../src/dispatch/providers/anthropic/convert.ts";

const counts = { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 };
const ended = {
  id: "msgbatch_1",
  processing_status: "ended",
  created_at: "2026-01-01T00:00:00Z",
  expires_at: "2026-01-02T00:00:00Z",
  results_url: "https://example.com/results",
  request_counts: { ...counts, succeeded: 3 },
};
const batch = toProviderBatch(ended);

function completionOf(message: object): unknown {
  const value = { custom_id: "a", result: { type: "succeeded", message } };
  return toResultLine(value, batch);
}

describe("a message batch in our words", () => {
  test("that has ended", () => {
    expect(batch).toEqual({
      id: "msgbatch_1",
      state: "done",
      rawState: "ended",
      createdAt: Date.UTC(2026, 0, 1),
      expiresAt: Date.UTC(2026, 0, 2),
      tag: null,
      inputFileId: null,
      total: 3,
      settled: 3,
      ran: 3,
      counts: { total: 3, succeeded: 3, failed: 0 },
      resultRefs: ["msgbatch_1"],
      failure: null,
    });
  });

  test.each([
    [{ processing_status: "in_progress", results_url: null }, "running", []],
    [{ processing_status: "canceling", results_url: null }, "cancelling", []],
    [{ processing_status: "meditating", results_url: null }, "running", []],
    [{ request_counts: { ...counts, succeeded: 1, canceled: 2 } }, "cancelled", ["msgbatch_1"]],
    [{ request_counts: { ...counts, succeeded: 1, expired: 2 } }, "expired", ["msgbatch_1"]],
    [{ results_url: null, archived_at: "2026-01-30T00:00:00Z" }, "done", []],
  ])("with %j is %s", (changes, state, resultRefs) => {
    expect(toProviderBatch({ ...ended, ...changes })).toMatchObject({ state, resultRefs });
  });

  test("has its total from the first moment on", () => {
    const fresh = { ...ended, processing_status: "in_progress", request_counts: { ...counts, processing: 9 } };
    expect(toProviderBatch(fresh)).toMatchObject({ total: 9, settled: 0 });
  });

  test("without an id is no batch", () => {
    expect(() => toProviderBatch({ type: "message_batch" })).toThrow("no id");
  });
});

describe("a message as a completion", () => {
  test("with text, calls, thoughts and cached tokens", () => {
    const message = {
      id: "msg_1",
      model: "model-a",
      role: "assistant",
      stop_reason: "tool_use",
      content: [
        { type: "thinking", thinking: "Hm.", signature: "x" },
        { type: "text", text: "I " },
        { type: "text", text: "look." },
        { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Rome" } },
      ],
      usage: {
        input_tokens: 10,
        output_tokens: 5,
        cache_read_input_tokens: 100,
        cache_creation_input_tokens: 20,
        output_tokens_details: { thinking_tokens: 2 },
      },
    };
    expect(completionOf(message)).toEqual({
      customId: "a",
      error: null,
      usage: { inputTokens: 130, cachedTokens: 100, outputTokens: 5, reasoningTokens: 2, totalTokens: 135 },
      response: {
        statusCode: 200,
        body: {
          id: "msg_1",
          object: "chat.completion",
          created: Date.UTC(2026, 0, 1) / 1000,
          model: "model-a",
          choices: [
            {
              index: 0,
              message: {
                role: "assistant",
                content: "I look.",
                refusal: null,
                reasoning_content: "Hm.",
                thinking_blocks: [{ type: "thinking", thinking: "Hm.", signature: "x" }],
                tool_calls: [
                  { id: "toolu_1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
                ],
              },
              logprobs: null,
              finish_reason: "tool_calls",
            },
          ],
          usage: {
            prompt_tokens: 130,
            completion_tokens: 5,
            total_tokens: 135,
            prompt_tokens_details: { cached_tokens: 100, cache_creation_tokens: 20 },
            completion_tokens_details: { reasoning_tokens: 2 },
          },
        },
      },
    });
  });

  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["tool_use", "tool_calls"],
    ["refusal", "content_filter"],
    ["something_new", "stop"],
  ])("stops for %s: %s", (stop_reason, finish_reason) => {
    expect(completionOf({ id: "m", stop_reason, content: [] })).toMatchObject({
      response: { body: { choices: [{ finish_reason, message: { content: null } }] } },
    });
  });
});

describe("an item without a message", () => {
  test.each([
    ["invalid_request_error", 400],
    ["rate_limit_error", 429],
    ["overloaded_error", 529],
    ["api_error", 500],
    ["some_new_error", 500],
  ])("that failed with %s has the status %i", (type, statusCode) => {
    const error = { type: "error", error: { type, message: "Why." }, request_id: null };
    expect(toResultLine({ custom_id: "a", result: { type: "errored", error } }, batch)).toEqual({
      customId: "a",
      response: { statusCode, body: { error: { message: "Why.", type, param: null, code: type } } },
      error: { code: type, message: "Why." },
      usage: null,
    });
  });

  test.each([
    ["expired", "batch_expired"],
    ["canceled", "batch_cancelled"],
  ])("that was %s was not run", (type, code) => {
    expect(toResultLine({ custom_id: "a", result: { type } }, batch)).toMatchObject({
      response: null,
      error: { code },
    });
  });

  test.each(["vanished", "constructor", 7])("of the unknown kind %s gives no reason", (type) => {
    const line = toResultLine({ custom_id: "a", result: { type } }, batch);
    expect(line).toEqual({ customId: "a", response: null, error: null, usage: null });
  });

  test("and without a name is unreadable", () => {
    expect(() => toResultLine({ result: { type: "expired" } }, batch)).toThrow(
      expect.objectContaining({ code: "RESULTS_UNREADABLE" }),
    );
  });
});

test.each([
  [
    "the credit is used up",
    { status: 400, error: { error: { type: "invalid_request_error", message: "Your credit balance is too low" } } },
  ],
  [
    "a spend limit is reached",
    {
      status: 403,
      errorCode: "contract_spend_limit_reached",
      error: { error: { type: "permission_error", message: "No." } },
    },
  ],
  ["billing is refused", { status: 402, error: { error: { type: "billing_error", message: "No." } } }],
])("errors about money are distinguished from mistakes: %s", (_case, error) => {
  expect(classify(error, "create").kind).toBe("authOrBilling");
});
