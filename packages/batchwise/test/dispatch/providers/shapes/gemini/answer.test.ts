import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../../src/dispatch/contract/types.ts";
import { chatAnswer, errorAnswer, nativeAnswer } from "../../../../../src/dispatch/providers/shapes/gemini/answer.ts";
import { toCompletion } from "../../../../../src/dispatch/providers/shapes/gemini/completion.ts";
import {
  embeddingAnswer,
  toEmbedContentRequest,
} from "../../../../../src/dispatch/providers/shapes/gemini/embedding.ts";

const facts = { customId: "01JD_0000001", model: "gemini-x", createdAt: 1_767_225_600_000 };
const said = (...parts: JsonObject[]): JsonObject => ({ content: { role: "model", parts }, finishReason: "STOP" });
const choiceOf = (candidate: JsonObject): JsonObject =>
  (toCompletion({ candidates: [candidate] }, facts).choices as JsonObject[])[0] ?? {};
const messageOf = (candidate: JsonObject): JsonObject => choiceOf(candidate).message as JsonObject;

describe("a chat completion of a response", () => {
  test("has all that OpenAI's has", () => {
    const usageMetadata = {
      ...{ promptTokenCount: 10, cachedContentTokenCount: 4, toolUsePromptTokenCount: 1 },
      ...{ candidatesTokenCount: 5, thoughtsTokenCount: 7, totalTokenCount: 23 },
    };
    const response = {
      candidates: [said({ text: "Hel" }, { text: "lo" })],
      ...{ usageMetadata, modelVersion: "gemini-x-001", responseId: "abc" },
    };
    expect(toCompletion(response, facts)).toEqual({
      id: "abc",
      object: "chat.completion",
      created: 1_767_225_600,
      model: "gemini-x-001",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Hello", refusal: null },
          logprobs: null,
          finish_reason: "stop",
          native_finish_reason: "STOP",
        },
      ],
      usage: {
        prompt_tokens: 11,
        completion_tokens: 12,
        total_tokens: 23,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 7 },
      },
    });
    expect(chatAnswer(response, facts).usage).toEqual({
      ...{ inputTokens: 11, cachedTokens: 4, outputTokens: 12, reasoningTokens: 7, totalTokens: 23 },
    });
  });

  test("takes fields that the response lacks from the batch", () => {
    const completion = toCompletion({ candidates: [said({ text: "a" })] }, facts);
    expect(completion).toMatchObject({ id: "chatcmpl-01JD_0000001", model: "gemini-x", usage: { total_tokens: 0 } });
    const later = toCompletion({ candidates: [], createTime: "2026-01-01T00:00:09Z" }, facts);
    expect(later.created).toBe(1_767_225_609);
  });

  test("keeps thoughts, calls, images and signatures apart", () => {
    const functionCall = { name: "weather", args: { city: "Rome" } };
    const message = messageOf(
      said(
        { text: "Hmm.", thought: true },
        { text: "Let me see.", thoughtSignature: "s1" },
        { functionCall, thoughtSignature: "s2" },
        { functionCall: { id: "own", name: "now" } },
        { inlineData: { mimeType: "image/png", data: "AAAA" } },
      ),
    );
    expect(message).toEqual({
      role: "assistant",
      content: "Let me see.",
      refusal: null,
      reasoning_content: "Hmm.",
      images: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }],
      tool_calls: [
        {
          id: "call_01JD_0000001_0_0",
          type: "function",
          function: { name: "weather", arguments: '{"city":"Rome"}' },
          extra_content: { google: { thought_signature: "s2" } },
        },
        { id: "own", type: "function", function: { name: "now", arguments: "{}" } },
      ],
      extra_content: { google: { thought_signature: "s1" } },
    });
  });

  test.each([
    ["STOP", "stop", false],
    ["MAX_TOKENS", "length", false],
    ["SAFETY", "content_filter", true],
    ["RECITATION", "content_filter", true],
    ["MALFORMED_FUNCTION_CALL", "stop", true],
    ["SOMETHING_NEW", "stop", true],
  ])("that ended with %s ends with %s", (finishReason, expected, isRefused) => {
    const choice = choiceOf({ finishReason, finishMessage: "Why." });
    expect(choice).toMatchObject({ finish_reason: expected, native_finish_reason: finishReason });
    const refusal = isRefused ? `Gemini ended the answer with ${finishReason}: Why..` : null;
    expect(choice.message).toMatchObject({ content: null, refusal });
  });

  test("ends with tool_calls where it calls, and names the harm that stopped it", () => {
    expect(choiceOf(said({ functionCall: { name: "f" } })).finish_reason).toBe("tool_calls");
    const safetyRatings = [{ category: "HARM_A", probability: "HIGH", blocked: true }, { category: "HARM_B" }];
    expect(messageOf({ finishReason: "SAFETY", safetyRatings }).refusal).toContain("HARM_A (HIGH)");
  });

  test("has log probabilities and sources", () => {
    const logprobsResult = {
      chosenCandidates: [{ token: "é", logProbability: -0.5 }, { token: "a" }],
      topCandidates: [{ candidates: [{ token: "e", logProbability: -1 }] }],
    };
    const citationMetadata = { citationSources: [{ startIndex: 1, endIndex: 5, uri: "https://a.example" }] };
    const choice = choiceOf({ ...said({ text: "é" }), logprobsResult, citationMetadata });
    expect(choice.logprobs).toEqual({
      content: [
        { token: "é", logprob: -0.5, bytes: [195, 169], top_logprobs: [{ token: "e", logprob: -1, bytes: [101] }] },
        { token: "a", logprob: 0, bytes: [97], top_logprobs: [] },
      ],
      refusal: null,
    });
    const url_citation = { start_index: 1, end_index: 5, url: "https://a.example", title: "" };
    expect(choice.message).toMatchObject({ annotations: [{ type: "url_citation", url_citation }] });
  });

  test("has a choice for each candidate", () => {
    const response = { candidates: [said({ text: "a" }), { ...said({ text: "b" }), index: 1 }] };
    const choices = toCompletion(response, facts).choices as JsonObject[];
    expect(choices.map(({ index, message }) => [index, (message as JsonObject).content])).toEqual([
      [0, "a"],
      [1, "b"],
    ]);
  });
});

describe("an error", () => {
  test("stands for a prompt that was blocked, with the tokens that it cost", () => {
    const response = { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 3 } };
    expect(chatAnswer(response, facts)).toMatchObject({
      response: { statusCode: 400, body: { error: { code: "content_filter" } } },
      error: { code: "content_filter", message: "Gemini blocked the prompt (SAFETY)." },
      usage: { inputTokens: 3 },
    });
  });

  test("stands for a response without any candidate, and is worth another try", () => {
    expect(chatAnswer({}, facts)).toMatchObject({ response: { statusCode: 500 }, error: { code: "no_candidates" } });
  });

  test.each([
    [3, 400, "INVALID_ARGUMENT"],
    [8, 429, "RESOURCE_EXHAUSTED"],
    [13, 500, "INTERNAL"],
    [503, 503, "UNKNOWN"],
    [undefined, 500, "UNKNOWN"],
  ])("of code %s is an answer %s", (code, statusCode, name) => {
    const answer = errorAnswer({ code, message: "Why." }, false);
    expect(answer).toMatchObject({ response: { statusCode }, error: { code: name, message: "Why." } });
  });

  test("that says cancelled is no answer: the batch was, or the request goes again", () => {
    const error = { code: 1, message: "The operation was cancelled." };
    expect(errorAnswer(error, true)).toMatchObject({ response: null, error: { code: "batch_cancelled" } });
    expect(errorAnswer(error, false)).toMatchObject({ response: null, error: { code: "CANCELLED" } });
  });
});

test("a response of Gemini's own shape stays as it is", () => {
  const response = { candidates: [], anything: { else: 1 }, usageMetadata: { promptTokenCount: 3 } };
  expect(nativeAnswer(response)).toMatchObject({
    response: { statusCode: 200, body: response },
    usage: { inputTokens: 3 },
  });
  expect(nativeAnswer({}).usage).toBeNull();
});

describe("embeddings", () => {
  test("request one content, and come back as a list of one", () => {
    const body = {
      model: "e",
      input: ["Hi"],
      dimensions: 8,
      encoding_format: "float",
      taskType: "CLUSTERING",
      title: "T",
    };
    expect(toEmbedContentRequest(body)).toEqual({
      content: { parts: [{ text: "Hi" }] },
      ...{ outputDimensionality: 8, taskType: "CLUSTERING", title: "T" },
    });
    const answer = embeddingAnswer({ embedding: { values: [1, 2] }, tokenCount: "3" }, "e");
    expect(answer.response?.body).toEqual({
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [1, 2] }],
      model: "e",
      usage: { prompt_tokens: 3, total_tokens: 3 },
    });
    expect(answer.usage).toMatchObject({ inputTokens: 3, outputTokens: 0 });
  });

  test.each<readonly [string, JsonObject, string]>([
    ["several inputs", { input: ["a", "b"] }, "2 inputs"],
    ["tokens", { input: [1, 2] }, "tokens"],
    ["lists of tokens", { input: [[1, 2]] }, "tokens"],
    ["nothing", { input: "" }, "`input`"],
    ["half a dimension", { input: "a", dimensions: 0.5 }, "`dimensions`"],
    ["base64", { input: "a", encoding_format: "base64" }, "`encoding_format`"],
  ])("are refused for %s", (_case, body, words) => {
    const message = expect.stringContaining(words);
    expect(() => toEmbedContentRequest(body)).toThrow(expect.objectContaining({ code: "INVALID_REQUEST", message }));
  });
});
