import { describe, expect, test } from "vitest";
import type { BatchName, ResultLine } from "../../../src/dispatch/contract/account.ts";
import type { Json, JsonObject } from "../../../src/dispatch/contract/types.ts";
import { accountBlameOf } from "../../../src/dispatch/format/account-blame.ts";
import * as anthropic from "../../../src/dispatch/providers/anthropic/convert.ts";
import { answering } from "../../../src/dispatch/providers/bedrock/records.ts";
import * as bedrock from "../../../src/dispatch/providers/bedrock/results.ts";
import { type Answer as LocalAnswer, toResultLine as ofLocal } from "../../../src/dispatch/providers/local/answer.ts";
import * as mistral from "../../../src/dispatch/providers/mistral/convert.ts";
import { toResultLine as ofOpenAi } from "../../../src/dispatch/providers/shapes/openai/openai-result.ts";
import { familyOf } from "../../../src/dispatch/providers/vertex/family.ts";
import { toProviderBatch } from "../../../src/dispatch/providers/vertex/job.ts";
import * as vertex from "../../../src/dispatch/providers/vertex/results.ts";

const batch = toProviderBatch({ name: "projects/p/locations/l/batchPredictionJobs/1" });
const key = "01JD3K9V7QX2ABCDEFGHJKMNPQ";
const CHAT = "/v1/chat/completions";

function atBedrock(model: string, modelOutput: JsonObject, endpoint = CHAT): ResultLine {
  const name: BatchName = { key, attempt: 1, model, endpoint };
  return bedrock.toResultLine({ recordId: "a", modelOutput }, batch, name, answering(name, null));
}

function atVertex(model: string, fields: JsonObject, endpoint = CHAT): ResultLine {
  const line = { custom_id: "a", request: { labels: { batchwise_id: "a" } }, status: "", ...fields };
  return vertex.toResultLine(familyOf(model), line, batch, { key, attempt: 1, model, endpoint });
}

function atAnthropic(result: JsonObject, isNative = false): ResultLine {
  const line = { custom_id: "a", result: { type: "succeeded", ...result } };
  return isNative ? anthropic.toNativeLine(line) : anthropic.toResultLine(line, batch);
}

const open = "publishers/meta/models/llama-4-scout";

/**
 * The same body as a line of each OpenAI-compatible service, and as the answer of a user's server.
 */
const shaped: readonly (readonly [string, (body: Json, endpoint?: string) => ResultLine])[] = [
  ["OpenAI", (body, endpoint = CHAT) => ofOpenAi(lineWith(body), endpoint)],
  ["Mistral", (body, endpoint = CHAT) => mistral.toResultLine(lineWith(body), endpoint)],
  ["an open model at Vertex", (body, endpoint = CHAT) => atVertex(open, lineWith(body), endpoint)],
  ["a server of the user's", (body, endpoint = CHAT) => ofLocal("a", localAnswer(body), endpoint)],
];

function lineWith(body: Json): JsonObject {
  return { custom_id: "a", response: { status_code: 200, request_id: "r", body }, error: null };
}

function localAnswer(body: Json): LocalAnswer {
  return { kind: "answer", statusCode: 200, body: (body ?? {}) as JsonObject, retryAfterMs: null };
}

const claude = "anthropic.claude-haiku-4-5-20251001-v1:0";
const atGoogle = "publishers/anthropic/models/claude-haiku-4-5";
const gemini = "publishers/google/models/gemini-2.5-flash";
const busy = { type: "error", error: { type: "overloaded_error", message: "Busy." } };

describe("an answer of 200 without an answer in it is a failure, and is tried again", () => {
  test.each<[string, () => ResultLine]>([
    ["a success of Anthropic's without a message", () => atAnthropic({})],
    ["a message of Anthropic's without content", () => atAnthropic({ message: { id: "m", content: null } })],
    ["the same at /v1/messages", () => atAnthropic({ message: { id: "m" } }, true)],
    ["Claude's at Bedrock", () => atBedrock(claude, { id: "m" })],
    ["Claude's at Bedrock, at /v1/messages", () => atBedrock(claude, { id: "m" }, "/v1/messages")],
    ["Claude's at Vertex", () => atVertex(atGoogle, { response: { id: "m" } })],
    ["Claude's at Vertex, at /v1/messages", () => atVertex(atGoogle, { response: { id: "m" } }, "/v1/messages")],
    ["Nova's", () => atBedrock("amazon.nova-lite-v1:0", { output: { message: {} }, stopReason: "end_turn" })],
    ["Llama's", () => atBedrock("meta.llama3-8b", { prompt_token_count: 3, stop_reason: "stop" })],
    ["Titan's", () => atBedrock("amazon.titan-embed-text-v2:0", { inputTextTokenCount: 3 }, "/v1/embeddings")],
    ["any model's", () => atBedrock("mistral.mistral-large", {}, "/model/invoke")],
    ["Gemini's own", () => atVertex(gemini, { response: {} }, "/v1beta/generateContent")],
  ])("%s", (_, read) => {
    const { response, error, usage } = read();
    expect(response?.statusCode).toBe(500);
    expect([error?.code, usage]).toEqual(["no_answer", null]);
    expect(error?.message).toMatch(/ answered with(out| nothing)/);
    expect(response?.body.error).toMatchObject({ message: error?.message });
  });
});

describe.each(shaped)("a 200 without an answer in it at %s is a failure, and is tried again", (_service, read) => {
  const quota = { code: "insufficient_quota", message: "You exceeded your current quota." };

  test.each<[string, Json, string, string]>([
    ["no body", null, CHAT, "with nothing"],
    ["an empty body", {}, CHAT, "with nothing"],
    ["the same at any endpoint", {}, "/v1/videos", "with nothing"],
    ["an error", { error: { message: "Busy.", code: 502 } }, CHAT, 'error in place of an answer: "Busy."'],
    ["an error as words", { error: "Busy." }, CHAT, 'error in place of an answer: "Busy."'],
    ["vLLM's error", { object: "error", message: "Busy.", type: "Internal" }, CHAT, '"Internal: Busy."'],
    ["no choice", { object: "chat.completion", choices: [] }, CHAT, "without anything in `choices`"],
    ["no choices", { object: "chat.completion", choices: null }, CHAT, "without anything in `choices`"],
    ["a choice that is an error", { choices: [{ error: { code: 502 } }] }, CHAT, "with errors in place of answers"],
    ["no text", { object: "text_completion", choices: [] }, "/v1/completions", "without anything in `choices`"],
    ["no vector", { object: "list", data: [] }, "/v1/embeddings", "without anything in `data`"],
    ["no image", { created: 1, data: [] }, "/v1/images/generations", "without anything in `data`"],
    ["no verdict", { results: [] }, "/v1/moderations", "without anything in `results`"],
    [
      "a response that failed",
      { object: "response", status: "failed", error: { code: "server_error", message: "Busy." }, output: [] },
      "/v1/responses",
      '"server_error: Busy."',
    ],
    ["one without words", { object: "response", status: "failed", error: null }, "/v1/responses", "has failed"],
  ])("%s", (_what, body, endpoint, words) => {
    const { response, error } = read(body, endpoint);
    expect([response?.statusCode, error?.code]).toEqual([500, "no_answer"]);
    expect(error?.message).toContain(words);
    expect(response?.body.error).toMatchObject({ message: error?.message });
  });

  test("and one of money blames the account", () => {
    const line = read({ error: quota });
    expect([line.error, accountBlameOf(line)]).toEqual([quota, "code"]);
  });

  test.each<[string, JsonObject, string]>([
    ["a completion", { choices: [{ message: { role: "assistant", content: "" } }], error: null }, CHAT],
    ["a response that is cut", { object: "response", status: "incomplete", error: null, output: [] }, "/v1/responses"],
    ["a body of an endpoint that is not known", { data: [] }, "/v1/search"],
  ])("but %s is an answer", (_what, body, endpoint) => {
    expect(read(body, endpoint)).toMatchObject({ response: { statusCode: 200 }, error: null });
  });
});

describe("an error of Claude's in place of a message keeps its type and its status", () => {
  test.each<[string, () => ResultLine]>([
    ["of a success at Anthropic", () => atAnthropic({ message: busy })],
    ["of a success at Anthropic, at /v1/messages", () => atAnthropic({ message: busy }, true)],
    ["at Bedrock", () => atBedrock(claude, busy)],
    ["at Bedrock, at /v1/messages", () => atBedrock(claude, busy, "/v1/messages")],
    ["at Bedrock, at /model/invoke", () => atBedrock(claude, busy, "/model/invoke")],
    ["at Vertex", () => atVertex(atGoogle, { response: busy })],
    ["at Vertex, at /v1/messages", () => atVertex(atGoogle, { response: busy }, "/v1/messages")],
  ])("%s", (_, read) => {
    const { response, error } = read();
    expect([response?.statusCode, error]).toEqual([529, { code: "overloaded_error", message: "Busy." }]);
    expect(response?.body.error).toMatchObject({ type: "overloaded_error", message: "Busy." });
  });
});

describe("an answer that says nothing is an answer", () => {
  test.each<[string, () => ResultLine]>([
    ["Claude's, that refused", () => atBedrock(claude, { content: [], stop_reason: "refusal" })],
    ["Nova's, that was filtered", () => atBedrock("amazon.nova-lite-v1:0", { stopReason: "guardrail_intervened" })],
    ["Llama's empty text", () => atBedrock("meta.llama3-8b", { generation: "" })],
  ])("%s", (_, read) => {
    expect(read()).toMatchObject({ response: { statusCode: 200 }, error: null });
  });
});
