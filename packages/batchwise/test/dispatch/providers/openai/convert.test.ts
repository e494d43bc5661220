import { describe, expect, test } from "vitest";
import type { ResultLine } from "../../../../src/dispatch/contract/account.ts";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { checkBody } from "../../../../src/dispatch/providers/openai/check-body.ts";
import { classify, classifyBatchErrors } from "../../../../src/dispatch/providers/openai/classify.ts";
import { nextOf, toProviderBatch } from "../../../../src/dispatch/providers/openai/convert.ts";
import { rowsOf } from "../../../../src/dispatch/providers/shapes/lines/list-rows.ts";
import { toResultLine as lineOf } from "../../../../src/dispatch/providers/shapes/openai/openai-result.ts";

const wire = {
  id: "batch_1",
  status: "completed",
  created_at: 1_767_225_600,
  expires_at: 1_767_312_000,
  input_file_id: "file-in",
  output_file_id: "file-out",
  error_file_id: null,
  request_counts: { total: 10, completed: 7, failed: 3 },
  metadata: { batchwise_key: "01JD3K9V7QX2ABCDEFGHJKMNPQ", batchwise_attempt: "2", other: "x" },
};

const toResultLine = (wire: JsonObject): ResultLine => lineOf(wire, "/v1/chat/completions");

describe("a batch in our words", () => {
  test("that is completed", () => {
    expect(toProviderBatch(wire)).toEqual({
      id: "batch_1",
      state: "done",
      rawState: "completed",
      createdAt: 1_767_225_600_000,
      expiresAt: 1_767_312_000_000,
      tag: { key: "01JD3K9V7QX2ABCDEFGHJKMNPQ", attempt: 2 },
      inputFileId: "file-in",
      total: 10,
      settled: 10,
      ran: 10,
      counts: { total: 10, succeeded: 7, failed: 3 },
      usage: null,
      resultRefs: ["file-out"],
      failure: null,
    });
  });

  test.each([
    ["validating", "validating"],
    ["Validating", "validating"],
    ["IN_PROGRESS", "running"],
    ["in_progress", "running"],
    ["finalizing", "finalizing"],
    ["cancelling", "cancelling"],
    ["cancelled", "cancelled"],
    ["CANCELLED", "cancelled"],
    ["expired", "expired"],
    ["failed", "failed"],
    ["reticulating", "running"],
    ["", "running"],
  ])("in the state %j is %s", (status, state) => {
    expect(toProviderBatch({ ...wire, status })).toMatchObject({ state, rawState: status });
  });

  test.each([
    [{ output_file_id: "", error_file_id: "" }, []],
    [{ output_file_id: undefined, error_file_id: undefined }, []],
    [{ output_file_id: null, error_file_id: "file-err" }, ["file-err"]],
    [{ output_file_id: "file-out", error_file_id: "file-err" }, ["file-out", "file-err"]],
  ])("with the files %j", (files, resultRefs) => {
    expect(toProviderBatch({ ...wire, ...files }).resultRefs).toEqual(resultRefs);
  });

  test("knows no total while it is 0 or absent, and no tag where there is none", () => {
    const fresh = { ...wire, request_counts: { total: 0, completed: 0, failed: 0 }, metadata: { batchwise_key: "x" } };
    expect(toProviderBatch(fresh)).toMatchObject({ total: null, settled: null, tag: null });
    expect(toProviderBatch({ id: "b", status: "validating" })).toMatchObject({ total: null, tag: null, createdAt: 0 });
  });

  test("is taken out of the wrapping of a create, with times as text", () => {
    const job = { id: "b", status: "VALIDATING", created_at: "2026-01-01T00:00:00Z" };
    expect(toProviderBatch({ job, warning: "" })).toMatchObject({ id: "b", createdAt: Date.UTC(2026, 0, 1) });
  });

  test("without an id is no batch", () => {
    expect(() => toProviderBatch({ status: "validating" })).toThrow("no id");
  });
});

describe("a batch that failed as a whole", () => {
  const errors = (...data: object[]): object => ({ object: "list", data });

  test("over the enqueued tokens names the limit, where the message does", () => {
    const message =
      "Enqueued token limit reached for gpt-4o in organization org-1. Limit: 1,350,000 enqueued tokens. Please";
    expect(classifyBatchErrors(errors({ code: "token_limit_exceeded", message, line: null }))).toEqual({
      kind: "tokenLimit",
      code: "token_limit_exceeded",
      message,
      limitTokens: 1_350_000,
    });
    const vague = classifyBatchErrors(errors({ code: "token_limit_exceeded", message: "Too much." }));
    expect(vague).toMatchObject({ kind: "tokenLimit", limitTokens: null });
  });

  test("for its lines blames each line once", () => {
    const data = [
      { code: "invalid_json_line", message: "Not JSON.", line: 3 },
      { code: "duplicate_custom_id", message: "Twice.", line: 3 },
      { code: "model_not_found", message: "No model.", line: 7, param: "body.model" },
      { code: "invalid_request", message: "All of it.", line: null },
    ];
    expect(classifyBatchErrors(errors(...data))).toEqual({
      kind: "invalidRequest",
      code: "invalid_json_line",
      message: "Not JSON.",
      lines: [
        { line: 3, code: "invalid_json_line", message: "Not JSON." },
        { line: 7, code: "model_not_found", message: "No model." },
      ],
    });
  });

  test.each([
    ["a whole file", errors({ code: "too_many_tasks", message: "Too many." }), "invalidRequest", "too_many_tasks"],
    [
      "money",
      errors({ code: "billing_hard_limit_reached", message: "No." }),
      "authOrBilling",
      "billing_hard_limit_reached",
    ],
    ["a fault of theirs", errors({ code: "internal_error", message: "Oops." }), "unknown", "internal_error"],
    ["no reason", undefined, "unknown", "batch_failed"],
    ["a text", "it broke", "unknown", "batch_failed"],
  ])("for %s", (_case, value, kind, code) => {
    expect(classifyBatchErrors(value)).toMatchObject({ kind, code });
  });
});

/** The error of `fetch`. */
function unreachable(code: string, syscall: string): object {
  return { message: "Connection error.", cause: { message: "fetch failed", cause: { code, syscall } } };
}

describe("an error of a call", () => {
  test.each<[string, unknown, string]>([
    ["a quota that is used up, told with 429", { status: 429, code: "insufficient_quota" }, "authOrBilling"],
    [
      "a token limit told at once",
      { status: 400, error: { message: "Enqueued token limit reached. Limit: 5" } },
      "tokenLimit",
    ],
    [
      "a refused connection",
      { message: "Connection error.", cause: { cause: { code: "ECONNREFUSED" } } },
      "definitelyNotCreated",
    ],
    ["a name that does not resolve", { cause: { cause: { code: "ENOTFOUND" } } }, "definitelyNotCreated"],
    ["no route to connect by", unreachable("EHOSTUNREACH", "connect"), "definitelyNotCreated"],
    ["no network to connect by", unreachable("ENETUNREACH", "connect"), "definitelyNotCreated"],
    ["no route for the answer of a call that was sent", unreachable("EHOSTUNREACH", "read"), "unknown"],
    ["no network in the middle of a call", unreachable("ENETUNREACH", "write"), "unknown"],
    [
      "no route to any address of the name",
      { cause: { cause: { code: "EHOSTUNREACH", errors: [{ code: "EHOSTUNREACH", syscall: "connect" }] } } },
      "definitelyNotCreated",
    ],
    ["a reset connection", { cause: { cause: { code: "ECONNRESET" } } }, "unknown"],
    ["a timeout", new Error("Request timed out."), "unknown"],
    ["a wrong method", { status: 405 }, "authOrBilling"],
    ["something thrown that is no error", "boom", "unknown"],
    ["nothing", undefined, "unknown"],
  ])("%s", (_case, error, kind) => {
    expect(classify(error, "create").kind).toBe(kind);
  });

  test.each([
    [{ "retry-after": "7" }, 7_000],
    [{ "retry-after-ms": "250", "retry-after": "7" }, 250],
    [{ "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }, null],
    [{}, null],
    [{ "retry-after": "1795401340" }, 3_600_000],
    [{ "retry-after-ms": "Infinity" }, 3_600_000],
  ])("a 429 with %j", (headers, retryAfterMs) => {
    const error = { status: 429, headers: new Headers(headers as Record<string, string>) };
    expect(classify(error, "create")).toMatchObject({ kind: "rateLimited", retryAfterMs });
  });
});

describe("a result line", () => {
  const line = (more: JsonObject): JsonObject => ({
    id: "batch_req_1",
    custom_id: "a",
    response: null,
    error: null,
    ...more,
  });
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };

  test("that succeeded", () => {
    const body = { object: "chat.completion", usage };
    expect(toResultLine(line({ response: { status_code: 200, request_id: "r", body } }))).toEqual({
      customId: "a",
      response: { statusCode: 200, body },
      error: null,
      usage: { inputTokens: 3, cachedTokens: 0, outputTokens: 4, reasoningTokens: 0, totalTokens: 7 },
    });
  });

  test("of an embedding has no output tokens", () => {
    const body = { object: "list", usage: { prompt_tokens: 8, total_tokens: 8 } };
    const { usage: counted } = toResultLine(line({ response: { status_code: 200, body } }));
    expect(counted).toMatchObject({ inputTokens: 8, outputTokens: 0, totalTokens: 8 });
  });

  test("whose body is a text of JSON", () => {
    expect(toResultLine(line({ response: { status_code: 200, body: '{"a":1}' } })).response?.body).toEqual({ a: 1 });
    expect(toResultLine(line({ response: { status_code: 502, body: "Bad gateway" } })).response?.body).toEqual({
      message: "Bad gateway",
    });
  });

  test.each<[string, JsonObject, string]>([
    ["a code", { error: { code: "context_length_exceeded", message: "Long.", type: "x" } }, "context_length_exceeded"],
    ["a type", { error: { code: null, message: "Long.", type: "server_error" } }, "server_error"],
    ["nothing", {}, "http_400"],
  ])("that failed with %s", (_case, body, code) => {
    const read = toResultLine(line({ response: { status_code: 400, body } }));
    expect(read).toMatchObject({ response: { statusCode: 400 }, error: { code } });
  });

  test("that was not run has the provider's reason", () => {
    const error = { code: "batch_expired", message: "Too late." };
    expect(toResultLine(line({ error }))).toEqual({ customId: "a", response: null, error, usage: null });
  });

  test("with the status 0 has no answer, and with nothing at all no reason", () => {
    expect(toResultLine(line({ response: { status_code: 0, body: {} } }))).toMatchObject({
      response: null,
      error: { code: "no_answer" },
    });
    expect(toResultLine(line({}))).toMatchObject({ response: null, error: null });
  });

  test("without a name is unreadable", () => {
    expect(() => toResultLine({ response: null })).toThrow(expect.objectContaining({ code: "RESULTS_UNREADABLE" }));
  });
});

test("rows are found in a page, in a plain array, and in an SDK's form of a plain array", () => {
  expect(rowsOf({ data: [1], has_more: false })).toEqual([1]);
  expect(rowsOf([1, 2])).toEqual([1, 2]);
  expect(rowsOf({ data: [], body: [1] })).toEqual([1]);
  expect(rowsOf({ data: [] })).toEqual([]);
  expect(nextOf({ has_more: true }, [{ id: "a" }, { id: "b" }])).toBe("b");
  expect(nextOf({ has_more: false }, [{ id: "a" }])).toBeNull();
  expect(nextOf({ has_more: true }, [])).toBeNull();
});

describe("a body that cannot be in a batch is refused by name", () => {
  const both = { endpoints: ["/v1/chat/completions", "/v1/embeddings"], maxInputs: 3 } as const;
  const messages = [{ role: "user", content: "Hi" }];

  test.each<[string, (typeof both.endpoints)[number], JsonObject, string]>([
    ["a stream", "/v1/chat/completions", { messages, stream: true }, "`stream`"],
    ["no messages", "/v1/chat/completions", {}, "`messages`"],
    ["a message without a role", "/v1/chat/completions", { messages: [{}] }, "`messages[0]`"],
    ["no input", "/v1/embeddings", {}, "`input`"],
    ["too many inputs", "/v1/embeddings", { input: ["a", "b", "c", "d"] }, "`input` holds more than 3 inputs"],
    ["too many inputs in tokens", "/v1/embeddings", { input: [[1], [2], [3], [4]] }, "more than 3 inputs"],
    ["an empty input", "/v1/embeddings", { input: [] }, "`input`"],
  ])("%s", (_case, endpoint, body, place) => {
    expect(() => checkBody(both, endpoint, body)).toThrow(place);
  });

  test("an endpoint that the service has not", () => {
    expect(() =>
      checkBody({ endpoints: ["/v1/chat/completions"], maxInputs: 3 }, "/v1/embeddings", { input: "x" }),
    ).toThrow("not served here");
  });

  test("but not one that fits", () => {
    checkBody(both, "/v1/chat/completions", { messages });
    checkBody(both, "/v1/embeddings", { input: [1, 2, 3, 4] });
    checkBody(both, "/v1/embeddings", { input: ["a", "b", "c"] });
  });
});

test.each<[string, unknown]>([
  ["a page of HTML, of which the SDK makes an empty one", { data: [], body: "<html>" }],
  ["an error with a 200", { data: [], body: { error: { message: "later" } } }],
  ["an object", { message: "later" }],
  ["a text", "<html>"],
  ["nothing", null],
])("%s is no empty list", (_case, answer) => {
  expect(() => rowsOf(answer)).toThrow(
    "Expected the provider to answer a call for its list with an array `data`, got ",
  );
});

test("an empty list may be null", () => {
  expect(rowsOf({ data: [], body: { object: "list", data: null } })).toEqual([]);
});
