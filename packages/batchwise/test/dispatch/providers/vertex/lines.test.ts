import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import type { VertexFamily } from "../../../../src/dispatch/providers/vertex/family.ts";
import { checkRequest, encodeLine, idOf } from "../../../../src/dispatch/providers/vertex/lines.ts";

const customId = "KMNPQRSTVWXY_0000007";
const manner = { defaultMaxTokens: 64 };
const chat: JsonObject = { model: "m", temperature: 0, messages: [{ role: "user", content: "Hi" }] };

function line(family: VertexFamily, body: JsonObject, endpoint = "/v1/chat/completions"): JsonObject {
  checkRequest(family, endpoint, body, manner);
  const text = encodeLine(family, { customId, endpoint, body: JSON.stringify(body) }, manner);
  expect(text.endsWith("\n")).toBe(true);
  return JSON.parse(text) as JsonObject;
}

describe("a line of Gemini's", () => {
  test("is a request with a label in place of an id, and the label is the id again", () => {
    const { request } = line("gemini", chat);
    expect(line("gemini", chat)).toEqual({
      request: {
        contents: [{ role: "user", parts: [{ text: "Hi" }] }],
        generationConfig: { temperature: 0 },
        labels: { batchwise_id: "kmnpqrstvwxy_0000007" },
      },
    });
    expect(idOf(request)).toBe(customId);
  });

  test("has a body of Gemini's own as it is, with its labels and without its model", () => {
    const own = { model: "m", contents: [{ parts: [] }], tools: [{ googleSearch: {} }], labels: { team: "a" } };
    expect(line("gemini", own, "/v1beta/generateContent")).toEqual({
      request: {
        ...{ contents: own.contents, tools: own.tools },
        labels: { team: "a", batchwise_id: "kmnpqrstvwxy_0000007" },
      },
    });
  });

  test("has no id that its label would not give back", () => {
    const request = { customId: "small", endpoint: "/v1/chat/completions", body: JSON.stringify(chat) };
    expect(() => encodeLine("gemini", request, manner)).toThrow(
      'Expected an id of capitals, digits, _ and -, got "small"',
    );
    for (const odd of [undefined, {}, { labels: null }, { labels: { other: "x" } }, "x"]) expect(idOf(odd)).toBe(null);
  });
});

describe("a line of Claude's", () => {
  test("is a message with the version that Vertex wants, and without the model", () => {
    expect(line("claude", chat)).toEqual({
      custom_id: customId,
      request: {
        anthropic_version: "vertex-2023-10-16",
        max_tokens: 64,
        messages: [{ role: "user", content: "Hi" }],
        temperature: 0,
      },
    });
  });

  test("has a message of Anthropic's own as it is, its version too", () => {
    const own = { model: "m", max_tokens: 5, messages: [], thinking: { type: "disabled" } };
    const { model: _, ...sent } = own;
    const version = { anthropic_version: "vertex-2023-10-16" };
    expect(line("claude", own, "/v1/messages").request).toEqual({ ...sent, ...version });
    const later = { ...own, anthropic_version: "vertex-2027-01-01" };
    expect(line("claude", later, "/v1/messages").request).toEqual({ ...sent, anthropic_version: "vertex-2027-01-01" });
  });
});

describe("a line of an open model", () => {
  test("is OpenAI's, its body untouched", () => {
    const body = '{"model":"m",  "messages":[{"role":"user","content":"Hi"}]}';
    const text = encodeLine("openai", { customId, endpoint: "/v1/chat/completions", body }, manner);
    expect(text).toBe(`{"custom_id":"${customId}","method":"POST","url":"/v1/chat/completions","body":${body}}\n`);
    expect(line("openai", { model: "m", input: "Hi" }, "/v1/embeddings").url).toBe("/v1/embeddings");
  });
});

describe("a line of a text embedding", () => {
  test("is only the text: it has no place for an id", () => {
    const body = { model: "m", input: "Hi", encoding_format: "float", user: "u" };
    expect(line("embedding", body, "/v1/embeddings")).toEqual({ content: "Hi" });
    expect(line("embedding", { model: "m", input: ["Hi"] }, "/v1/embeddings")).toEqual({ content: "Hi" });
  });
});

const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
const remote = { role: "user", content: [image] };

test.each<[VertexFamily, string, JsonObject, string]>([
  ["gemini", "/v1/embeddings", { model: "m", input: "a" }, '"m" is not served at /v1/embeddings in batches, but at'],
  ["gemini", "/v1/messages", { model: "m" }, "but at /v1/chat/completions and /v1beta/generateContent"],
  ["claude", "/v1beta/generateContent", { model: "m" }, "but at /v1/chat/completions and /v1/messages"],
  ["embedding", "/v1/chat/completions", chat, '"m" is not served at /v1/chat/completions in batches, but at /v1/emb'],
  ["embedding", "/v1/embeddings", { model: "m", input: ["a", "b"] }, "a request of 2 inputs"],
  ["embedding", "/v1/embeddings", { model: "m", input: "a", dimensions: 9 }, "`dimensions` has no place in a batch"],
  ["embedding", "/v1/embeddings", { model: "m", input: "a", taskType: "X" }, "`taskType` has no place in a batch"],
  ["openai", "/v1/responses", { model: "m", input: "a" }, "but at /v1/chat/completions and /v1/embeddings"],
  ["gemini", "/v1/chat/completions", { ...chat, stream: true }, "`stream` is not possible in a batch"],
  ["claude", "/v1/messages", { ...chat, stream: true }, "`stream` is not possible in a batch"],
  ["openai", "/v1/chat/completions", { ...chat, stream: true }, "`stream` is not possible in a batch"],
  ["openai", "/v1/chat/completions", { model: "m", messages: [] }, "`messages` must be a non-empty array"],
  ["openai", "/v1/embeddings", { model: "m", input: "" }, "`input` must be a text or a non-empty array"],
  ["claude", "/v1/chat/completions", { ...chat, container: "c" }, "Vertex AI has no `container`"],
  [
    "claude",
    "/v1/chat/completions",
    { ...chat, messages: [remote] },
    "Vertex AI takes images and documents as base64 only",
  ],
  ["claude", "/v1/chat/completions", { ...chat, logit_bias: { a: 1 } }, "`logit_bias` has no counterpart"],
  ["gemini", "/v1/chat/completions", { ...chat, logit_bias: { a: 1 } }, "`logit_bias` has no counterpart"],
])("%s at %s refuses %j", (family, endpoint, body, words) => {
  expect(() => checkRequest(family, endpoint, body, manner)).toThrow(
    expect.objectContaining({ code: "INVALID_REQUEST", message: expect.stringContaining(words) }),
  );
});
