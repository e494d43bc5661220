// What xAI answers, as our types: batches without a state, days in place of times, results in
// several shapes.

import { describe, expect, test } from "vitest";
import { toListPage, toProviderBatch, toResultLine } from "../../../../src/dispatch/providers/xai/convert.ts";

const KEY = "01JD3K9V7QX2ABCDEFGHJKMNPQ";
const REFUSED = "JSONL file validation failed: Model grok-4.5 is not supported for batch processing.";
const CHAT = "/v1/chat/completions";

function batch(state: object | null, more: object = {}): object {
  return {
    batch_id: "batch_1",
    name: `batchwise-${KEY}-2`,
    create_time: "2026-09-23",
    expire_time: "2026-10-23",
    cancel_time: null,
    cancel_by_xai_message: null,
    state,
    ...more,
  };
}

function counts(total: number, pending: number, ok: number, bad: number, cancelled = 0): object {
  return { num_requests: total, num_pending: pending, num_success: ok, num_error: bad, num_cancelled: cancelled };
}

test.each([
  ["has no counts yet", batch(null), { state: "validating", total: null, ran: null, resultRefs: [] }],
  ["counts nothing yet", batch(counts(0, 0, 0, 0)), { state: "validating", counts: null }],
  ["has some pending", batch(counts(3, 1, 1, 1)), { state: "running", settled: 2, ran: null, resultRefs: [] }],
  ["has none pending", batch(counts(3, 0, 2, 1)), { state: "done", settled: 3, ran: 3, resultRefs: ["batch_1"] }],
  ["is being cancelled", batch(counts(3, 2, 1, 0), { cancel_time: "2026-09-23" }), { state: "cancelling", ran: null }],
  [
    "was cancelled",
    batch(counts(3, 0, 1, 0, 2), { cancel_time: "2026-09-23" }),
    { state: "cancelled", ran: 1, settled: 3, resultRefs: ["batch_1"] },
  ],
  [
    "was cancelled before anything ran",
    batch(counts(3, 0, 0, 0, 3), { cancel_time: "2026-09-23" }),
    { state: "cancelled", ran: 0, resultRefs: [] },
  ],
  [
    "was cancelled by xAI",
    batch(counts(0, 0, 0, 0), { cancel_time: "2026-09-23", cancel_by_xai_message: REFUSED }),
    { state: "failed", resultRefs: [] },
  ],
  [
    "was cancelled by xAI when some had run",
    batch(counts(5, 0, 2, 1, 2), { cancel_time: "2026-09-23", cancel_by_xai_message: "The team was suspended." }),
    { state: "failed", ran: 3, resultRefs: ["batch_1"] },
  ],
  [
    "is being cancelled by xAI",
    batch(counts(5, 2, 2, 1), { cancel_time: "2026-09-23", cancel_by_xai_message: "The team was suspended." }),
    { state: "cancelling", ran: null, resultRefs: [], failure: null },
  ],
] as const)("reads a batch that %s", (_what, wire, expected) => {
  expect(toProviderBatch(wire)).toMatchObject({ id: "batch_1", tag: { key: KEY, attempt: 2 }, ...expected });
});

test("a day is no time of creation, so that no batch counts as older than its create", () => {
  expect(toProviderBatch(batch(null)).createdAt).toBe(0);
  const exact = batch(null, { create_time: "2026-09-23T10:00:00Z" });
  expect(toProviderBatch(exact).createdAt).toBe(Date.UTC(2026, 8, 23, 10));
});

test.each([
  [REFUSED, { kind: "invalidRequest", code: "model_not_found", lines: [{ line: 1 }] }],
  ["JSONL file validation failed: Invalid JSON.", { kind: "invalidRequest", code: "invalid_file", lines: [] }],
  ["The team has no credits left: insufficient credits.", { kind: "authOrBilling" }],
  ["Something went wrong.", { kind: "unknown" }],
])("maps the reason %j", (message, expected) => {
  const wire = batch(null, { cancel_by_xai_message: message });
  expect(toProviderBatch(wire).failure).toMatchObject({ message, ...expected });
});

test("an answer without a list is an error, because an unlisted batch would be sent again", () => {
  expect(toListPage({ batches: [batch(null)], pagination_token: "next" })).toMatchObject({ next: "next" });
  expect(toListPage({ batches: [], pagination_token: null })).toEqual({ batches: [], next: null });
  for (const wire of [{ batches: null }, { pagination_token: null }]) {
    expect(toListPage(wire)).toEqual({ batches: [], next: null });
  }
  for (const wire of [{}, { data: [] }, null, "<html>"]) expect(() => toListPage(wire)).toThrow("an array `batches`");
});

describe("a result", () => {
  const read = (result: object, wire: object = batch(counts(3, 0, 2, 1))) =>
    toResultLine({ batch_request_id: "r1", ...result }, toProviderBatch(wire), CHAT);
  const usage = (reasoning: number, total: number) => ({
    ...{ prompt_tokens: 10, completion_tokens: 5, total_tokens: total },
    completion_tokens_details: { reasoning_tokens: reasoning },
  });
  const answer = (more: object = {}) => ({
    batch_result: { response: { chat_get_completion: { choices: [{ message: { content: "hi" } }], ...more } } },
  });

  test("is the chat completion, and its reasoning counts as output", () => {
    const apart = read(answer({ usage: usage(100, 115) }));
    expect(apart).toMatchObject({ customId: "r1", error: null, response: { statusCode: 200 } });
    expect(apart.usage).toMatchObject({ inputTokens: 10, outputTokens: 105, reasoningTokens: 100, totalTokens: 115 });
    expect(read(answer({ usage: usage(4, 15) })).usage).toMatchObject({ outputTokens: 5, reasoningTokens: 4 });
  });

  test.each([
    [{ error: { code: 8, message: "Slow down." } }, 429, "RESOURCE_EXHAUSTED"],
    [{ error: { code: 3, message: "bad request" } }, 400, "INVALID_ARGUMENT"],
    [{ error: { code: "14", message: "later" } }, 503, "UNAVAILABLE"],
    [{ error: "Model is not supported for batch processing" }, 400, "INVALID_ARGUMENT"],
    [{ error: { code: "Client specified an invalid argument", error: "Too hot." } }, 400, "INVALID_ARGUMENT"],
    [{ error: { error: { message: "`temperature` must be at most 2." } } }, 400, "INVALID_ARGUMENT"],
    [{ error: { code: 13, message: "Invalid state." } }, 500, "INTERNAL"],
    [{ error: "The model took too long: request timed out" }, 500, "UNKNOWN"],
    [{ error: "The team exceeds its rate limit" }, 500, "UNKNOWN"],
    [{ error: "The prompt exceeds the team's tokens per minute" }, 500, "UNKNOWN"],
    [{}, 500, "UNKNOWN"],
  ])("%j has the status of its code", (result, statusCode, code) => {
    expect(read({ batch_result: result })).toMatchObject({ response: { statusCode }, error: { code } });
  });

  test("keeps its words, wherever they are", () => {
    const error = { code: "some-code", error: "Model overloaded." };
    expect(read({ batch_result: { error } })).toMatchObject({ error: { message: "Model overloaded." } });
  });

  test("may have its words beside it, and code 0 is no error", () => {
    expect(read({ error_message: "no capacity" })).toMatchObject({ error: { message: "no capacity" } });
    const fine = answer();
    expect(read({ ...fine, batch_result: { ...fine.batch_result, error: { code: 0, message: "" } } }).error).toBeNull();
  });

  test("of a request that a cancel has reached did not run", () => {
    const cancelled = batch(counts(3, 0, 1, 0, 2), { cancel_time: "2026-09-23" });
    const line = read({ batch_result: { error: { code: 1, message: "cancelled" } } }, cancelled);
    expect(line).toMatchObject({ response: null, error: { code: "batch_cancelled" } });
  });

  test("without an id blames the page", () => {
    const unnamed = (): unknown => toResultLine(answer(), toProviderBatch(batch(null)), CHAT);
    expect(unnamed).toThrow(expect.objectContaining({ code: "RESULTS_UNREADABLE" }));
  });
});
