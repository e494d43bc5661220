import { describe, expect, test } from "vitest";
import type { BatchName, ResultLine } from "../../../src/dispatch/contract/account.ts";
import type { JsonObject } from "../../../src/dispatch/contract/types.ts";
import * as anthropic from "../../../src/dispatch/providers/anthropic/convert.ts";
import * as bedrock from "../../../src/dispatch/providers/bedrock/convert.ts";
import { answering } from "../../../src/dispatch/providers/bedrock/records.ts";
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
