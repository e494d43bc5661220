import { describe, expect, test } from "vitest";
import { classify, toFailure } from "../../../../src/dispatch/providers/gemini/classify.ts";
import {
  inlineResults,
  toListPage,
  toProviderBatch,
  toResultLine,
} from "../../../../src/dispatch/providers/gemini/convert.ts";
import { displayNameOf } from "../../../../src/dispatch/providers/shapes/batch-names.ts";

const KEY = "01JD3K9V7QX2ABCDEFGHJKMNPQ";
const metadata = {
  model: "models/gemini-2.5-flash",
  displayName: displayNameOf({ key: KEY, attempt: 2 }),
  state: "BATCH_STATE_SUCCEEDED",
  createTime: "2026-01-01T00:00:00.123456Z",
  batchStats: { requestCount: "3", successfulRequestCount: "2", failedRequestCount: "1" },
  output: { responsesFile: "files/batch-1" },
};
const ended = { name: "batches/1", metadata, done: true };
const batch = toProviderBatch(ended);
const chat = { key: KEY, attempt: 2, endpoint: "/v1/chat/completions", model: "gemini-2.5-flash" };

describe("a batch in our words", () => {
  test("that has ended", () => {
    expect(batch).toEqual({
      id: "batches/1",
      state: "done",
      rawState: "BATCH_STATE_SUCCEEDED",
      createdAt: Date.UTC(2026, 0, 1) + 123,
      expiresAt: Date.UTC(2026, 0, 3) + 123,
      tag: { key: KEY, attempt: 2 },
      inputFileId: null,
      total: 3,
      settled: 3,
      ran: 3,
      counts: { total: 3, succeeded: 2, failed: 1 },
      resultRefs: ["files/batch-1"],
      failure: null,
    });
  });

  test.each([
    ["BATCH_STATE_PENDING", "validating"],
    ["JOB_STATE_QUEUED", "validating"],
    ["BATCH_STATE_RUNNING", "running"],
    ["JOB_STATE_PAUSED", "running"],
    ["JOB_STATE_CANCELLING", "cancelling"],
    ["BATCH_STATE_PONDERING", "running"],
    ["JOB_STATE_PARTIALLY_SUCCEEDED", "done"],
    ["BATCH_STATE_FAILED", "failed"],
    ["BATCH_STATE_CANCELLED", "cancelled"],
    ["BATCH_STATE_EXPIRED", "expired"],
  ])("in %s is %s", (state, expected) => {
    expect(toProviderBatch({ ...ended, metadata: { ...metadata, state } }).state).toBe(expected);
  });

  test.each([
    [{ done: true, response: {} }, "done"],
    [{ done: true, error: { code: 1 } }, "cancelled"],
    [{ done: true, error: { code: 13 } }, "failed"],
    [{}, "validating"],
  ])("without a state, as the operation says: %j", (operation, expected) => {
    expect(toProviderBatch({ name: "batches/1", ...operation }).state).toBe(expected);
  });

  test("that expired has run some, of which no line will come", () => {
    const expired = { ...metadata, state: "BATCH_STATE_EXPIRED", output: undefined };
    expect(toProviderBatch({ ...ended, metadata: expired })).toMatchObject({ ran: null, settled: 3, resultRefs: [] });
  });

  test("names itself where its results are inline, wherever these stand", () => {
    const inlined = { inlinedResponses: { inlinedResponses: [{ metadata: { key: "a" } }] } };
    const embedded = { inlinedEmbedContentResponses: inlined.inlinedResponses };
    const places = [
      { ...ended, metadata: { ...metadata, output: inlined } },
      { ...ended, metadata: { ...metadata, output: embedded } },
      { ...ended, metadata: { ...metadata, output: undefined }, response: inlined },
    ];
    for (const wire of places) {
      expect(toProviderBatch(wire).resultRefs).toEqual(["batches/1"]);
      expect(inlineResults(wire)).toEqual([{ metadata: { key: "a" } }]);
    }
  });

  test("of a stranger has no tag of ours, and one without a name is no batch", () => {
    for (const displayName of ["batchwise-1", `${displayNameOf({ key: KEY, attempt: 1 })}-copy`, "", undefined]) {
      expect(toProviderBatch({ ...ended, metadata: { ...metadata, displayName } }).tag).toBeNull();
    }
    expect(() => toProviderBatch({ metadata: {} })).toThrow("no name");
  });

  test.each([
    [
      { code: 3, message: "Line 2 is bad." },
      { kind: "invalidRequest", code: "rpc_3", message: "Line 2 is bad.", lines: [] },
    ],
    [
      { code: 8, message: "Full." },
      { kind: "tokenLimit", code: "rpc_8", message: "Full.", limitTokens: null },
    ],
    [{ code: 13 }, { kind: "unknown", code: "rpc_13", message: "The provider gave no reason." }],
    [
      { code: 9, message: "Please enable billing." },
      { kind: "authOrBilling", code: "rpc_9", message: "Please enable billing." },
    ],
    [
      { code: 5, message: "Gone." },
      { kind: "unknown", code: "rpc_5", message: "Gone." },
    ],
    [
      { code: 7, message: "You do not have permission to access the File abc or it may not exist." },
      {
        ...{ kind: "unknown", code: "rpc_7" },
        message: "You do not have permission to access the File abc or it may not exist.",
      },
    ],
    [
      { code: 7, message: "Denied." },
      { kind: "authOrBilling", code: "rpc_7", message: "Denied." },
    ],
    [
      { code: 16, message: "Who?" },
      { kind: "authOrBilling", code: "rpc_16", message: "Who?" },
    ],
    [undefined, null],
  ])("that failed with %j says why", (error, failure) => {
    const failed = { ...ended, error, metadata: { ...metadata, state: "BATCH_STATE_FAILED" } };
    expect(toProviderBatch(failed).failure).toEqual(failure);
    expect(toFailure(error)).toEqual(failure);
  });
});

describe("a result", () => {
  const response = { candidates: [{ content: { parts: [{ text: "Hi" }] }, finishReason: "STOP" }] };

  test("of a file or inline is a chat completion of the batch's time and model", () => {
    for (const value of [
      { key: "a", response },
      { metadata: { key: "a" }, response },
    ]) {
      expect(toResultLine(value, batch, chat)).toMatchObject({
        customId: "a",
        response: {
          statusCode: 200,
          body: { object: "chat.completion", model: "gemini-2.5-flash", created: 1767225600 },
        },
      });
    }
  });

  test("of a native endpoint is Gemini's own", () => {
    const name = { ...chat, endpoint: "/v1beta/generateContent" };
    expect(toResultLine({ key: "a", response }, batch, name).response?.body).toEqual(response);
    const vector = { embedding: { values: [1] }, tokenCount: "2" };
    const embed = { ...chat, endpoint: "/v1beta/embedContent" };
    expect(toResultLine({ key: "a", response: vector }, batch, embed).response?.body).toEqual(vector);
    const line = toResultLine({ key: "a", response: vector }, batch, {
      ...chat,
      endpoint: "/v1/embeddings",
      model: "e",
    });
    expect(line).toMatchObject({ response: { body: { object: "list", model: "e" } }, usage: { inputTokens: 2 } });
  });

  test("that was cancelled is not run where its batch was cancelled, and an error elsewhere", () => {
    const value = { key: "a", error: { code: 1, message: "The operation was cancelled." } };
    const cancelled = { ...batch, state: "cancelled" as const };
    expect(toResultLine(value, cancelled, chat).error?.code).toBe("batch_cancelled");
    expect(toResultLine(value, batch, chat).error?.code).toBe("CANCELLED");
  });

  test("without a key cannot be read", () => {
    const error = expect.objectContaining({ code: "RESULTS_UNREADABLE" });
    expect(() => toResultLine({ response }, batch, chat)).toThrow(error);
  });
});

describe("an error of the client", () => {
  const apiError = (status: number, message: string, more: object = {}): object => ({
    ...{ name: "ApiError", status },
    message: JSON.stringify({ error: { code: status, message, ...more } }),
  });
  const quota = "You exceeded your current quota, please check your plan and billing details.";
  const wait = { details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "36.5s" }] };

  test.each([
    ["a limit of calls", apiError(429, quota, wait), { kind: "rateLimited", retryAfterMs: 36_500 }],
    ["a limit of what is enqueued", apiError(429, quota), { kind: "tokenLimit", limitTokens: null, message: quota }],
    ["no credit", apiError(429, "Your prepayment credits are depleted."), { kind: "authOrBilling" }],
    ["a wrong key", apiError(400, "API key not valid. Please pass a valid API key."), { kind: "authOrBilling" }],
    ["a wrong place", apiError(400, "User location is not supported for the API use."), { kind: "authOrBilling" }],
    [
      "a file that is gone",
      apiError(403, "You do not have permission to access the File abc or it may not exist."),
      { kind: "definitelyNotCreated" },
    ],
    [
      "another permission",
      apiError(403, "Permission denied.", { status: "PERMISSION_DENIED" }),
      { kind: "authOrBilling", code: "PERMISSION_DENIED" },
    ],
    [
      "a payload too large",
      apiError(400, "Request payload size exceeds the limit."),
      { kind: "invalidRequest", lines: [] },
    ],
    ["an answer that is no JSON", { status: 503, message: "Bad gateway" }, { kind: "unknown", message: "Bad gateway" }],
    ["a broken answer", { status: 500, message: "{" }, { kind: "unknown", message: "{" }],
    ["a time limit", Object.assign(new Error("aborted"), { name: "AbortError" }), { kind: "unknown" }],
    [
      "no connection",
      Object.assign(new TypeError("fetch failed"), { cause: { code: "ECONNREFUSED" } }),
      { kind: "definitelyNotCreated" },
    ],
  ])("for %s", (_case, error, expected) => {
    expect(classify(error, "create")).toMatchObject(expected);
  });

  test("429 is about calls where nothing is created", () => {
    expect(classify(apiError(429, quota), "list")).toMatchObject({ kind: "rateLimited", retryAfterMs: null });
  });
});

describe("a list", () => {
  test.each([{}, { nextPageToken: "" }, { unreachable: ["us"] }, { operations: [] }])("of %j is empty", (wire) => {
    expect(toListPage(wire)).toEqual({ batches: [], next: null });
  });

  test.each([null, [], "<html>", { error: { code: 503 } }, { operations: {} }, { message: "later" }])(
    "is not that of %j",
    (wire) => {
      expect(() => toListPage(wire)).toThrow(
        "Expected the provider to answer a call for its list with an array `operations`, got ",
      );
    },
  );
});
