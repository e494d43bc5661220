import { describe, expect, test } from "vitest";
import type { ProviderBatch, ProviderState } from "../../../../src/dispatch/contract/account.ts";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import type { VertexFamily } from "../../../../src/dispatch/providers/vertex/family.ts";
import { toProviderBatch } from "../../../../src/dispatch/providers/vertex/job.ts";
import { toResultLine } from "../../../../src/dispatch/providers/vertex/results.ts";

const job = { name: "projects/p/locations/l/batchPredictionJobs/1", createTime: "2026-01-01T00:00:00Z" };
const name = { key: "01JD3K9V7QX2ABCDEFGHJKMNPQ", attempt: 1, model: "model-a" };
const labels = { batchwise_id: "abc_7" };
const candidates = [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP" }];
const message = {
  ...{ id: "msg_1", type: "message", role: "assistant", model: "claude", stop_reason: "end_turn" },
  ...{ content: [{ type: "text", text: "Hi" }], usage: { input_tokens: 3, output_tokens: 2 } },
};

function read(
  family: VertexFamily,
  line: JsonObject,
  endpoint = "/v1/chat/completions",
  state: ProviderState = "done",
) {
  const batch: ProviderBatch = { ...toProviderBatch(job), state };
  return toResultLine(family, line, batch, { ...name, endpoint });
}

describe("a line of results", () => {
  test("of Gemini is known by the label of the request that comes back", () => {
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2 };
    const line = { status: "", processed_time: "now", request: { labels }, response: { candidates, usageMetadata } };
    const { customId, response, error, usage } = read("gemini", line);
    expect([customId, response?.statusCode, error, usage?.totalTokens]).toEqual(["ABC_7", 200, null, 5]);
    expect(response?.body).toMatchObject({ model: "model-a", choices: [{ message: { content: "Hi" } }] });
    expect(read("gemini", line, "/v1beta/generateContent").response?.body).toEqual(line.response);
  });

  test("of Claude has its message, converted or as it came", () => {
    const line = { custom_id: "ABC_7", request: {}, response: message, status: "" };
    expect(read("claude", line)).toMatchObject({
      customId: "ABC_7",
      response: { statusCode: 200, body: { object: "chat.completion", choices: [{ message: { content: "Hi" } }] } },
      usage: { inputTokens: 3, outputTokens: 2 },
    });
    const own = read("claude", line, "/v1/messages");
    expect([own.response?.body, own.usage?.totalTokens]).toEqual([message, 5]);
  });

  test("of an open model is OpenAI's, or only the completion", () => {
    const body = { object: "chat.completion", choices: [{}], usage: { prompt_tokens: 3, completion_tokens: 2 } };
    const told = { id: "1", custom_id: "ABC_7", response: { status_code: 200, body }, error: null };
    const bare = { id: "1", custom_id: "ABC_7", response: body };
    for (const line of [told, bare]) {
      expect(read("openai", line)).toMatchObject({ customId: "ABC_7", response: { statusCode: 200, body } });
    }
    const failed = {
      custom_id: "ABC_7",
      response: { status_code: 400, body: { error: { code: "bad", message: "No." } } },
    };
    expect(read("openai", failed)).toMatchObject({
      response: { statusCode: 400 },
      error: { code: "bad", message: "No." },
    });
  });

  test.each<[VertexFamily, string]>([
    ["gemini", "the label of its request"],
    ["claude", "a custom_id"],
    ["openai", "a custom_id"],
  ])("of %s without its id stops the reading: no request may count as missing", (family, what) => {
    expect(() => read(family, { request: { labels: {} }, response: {} })).toThrow(
      expect.objectContaining({ code: "RESULTS_UNREADABLE", message: expect.stringContaining(`without ${what}`) }),
    );
  });

  test("without an answer and without a word says nothing", () => {
    expect(read("claude", { custom_id: "A", response: null, status: "" })).toMatchObject({
      response: null,
      error: null,
    });
  });
});

describe("a line that failed", () => {
  const google = (code: number, status: string) => JSON.stringify({ error: { code, message: "No.", status } });
  const anthropic = (type: string) => JSON.stringify({ type: "error", error: { type, message: "No." } });

  test.each([
    [`Bad Request: ${google(400, "INVALID_ARGUMENT")}`, 400, "INVALID_ARGUMENT", "No."],
    [`Too Many Requests: ${google(429, "RESOURCE_EXHAUSTED")}`, 429, "RESOURCE_EXHAUSTED", "No."],
    [`Internal: ${google(13, "INTERNAL")}`, 500, "INTERNAL", "No."],
    [anthropic("overloaded_error"), 529, "overloaded_error", "No."],
    [anthropic("invalid_request_error"), 400, "invalid_request_error", "No."],
    ["Bad Request: the image is too large", 400, "INVALID_ARGUMENT", "Bad Request: the image is too large"],
    ["Something {odd", 500, "UNKNOWN", "Something {odd"],
  ])("with the status %j is an answer %i", (status, statusCode, code, words) => {
    const line = read("gemini", { status, request: { labels }, response: {} });
    expect(line).toMatchObject({
      customId: "ABC_7",
      response: { statusCode },
      error: { code, message: words },
      usage: null,
    });
    expect(line.response?.body.error).toMatchObject({ code, message: words });
  });

  test("because it was cancelled was not run, if its batch was cancelled", () => {
    const status = google(499, "CANCELLED");
    const line = { status, request: { labels }, response: {} };
    expect(read("gemini", line, "/v1/chat/completions", "cancelled").error?.code).toBe("batch_cancelled");
    expect(read("gemini", line)).toMatchObject({ response: null, error: { code: "CANCELLED" } });
  });
});
