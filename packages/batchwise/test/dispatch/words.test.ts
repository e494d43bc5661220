// Common mistakes of first programs, and the errors that explain them.

import Anthropic from "@anthropic-ai/sdk";
import { Bedrock } from "@aws-sdk/client-bedrock";
import { GoogleGenAI } from "@google/genai";
import { Mistral } from "@mistralai/mistralai";
import { openaiAccount } from "batchwise/dispatch/openai";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { createDispatcher } from "../../src/dispatch/dispatcher.ts";
import { runBatch } from "../../src/dispatch/run-batch.ts";
import { memoryStore } from "../../src/dispatch/stores/memory/memory-store.ts";

const client = new OpenAI({ apiKey: "key" });
const account = openaiAccount({ client });
const messages = [{ role: "user", content: "hello" }];
const made = (options: object) => () => createDispatcher({ store: memoryStore(), accounts: [account], ...options });

describe("the fields of a request", () => {
  const enqueue = (request: unknown) => made({})().enqueue(request as never);

  test.each([
    ["a chat body", { model: "m", messages }, "Unknown field `model`: put OpenAI's parameters into `body`."],
    ["messages alone", { messages }, "Unknown field `messages`: put OpenAI's parameters into `body`."],
    ["a text to embed", { input: "hello" }, "Unknown field `input`: put OpenAI's parameters into `body`."],
    ["a parameter beside the body", { body: { messages }, temperature: 0 }, "`temperature`: put OpenAI's parameters"],
    ["a short parameter", { body: { messages }, n: 2 }, "Unknown field `n`: put OpenAI's parameters into `body`."],
    ["a slip", { body: { messages }, priorty: 1 }, "Unknown field `priorty`, did you mean `priority`?"],
    ["no request", "hello", "A request must be an object with a `body`, got `hello` (string)."],
    ["a list in the place of the body", { body: [1] }, "`body` must be a JSON object, got an object (Array)."],
  ])("%s", async (_case, request, message) => {
    await expect(enqueue(request)).rejects.toThrow(message);
    await expect(enqueue(request)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  });

  test.each([
    ["id", "Unknown field `id`: a batch line names it `custom_id`."],
    ["endpoint", "Unknown field `endpoint`: a batch line names it `url`."],
    [
      "priority",
      "Unknown field `priority`: a batch line has only `custom_id`, `method`, `url`, `body`. Write a request",
    ],
    ["messages", "Unknown field `messages`: put OpenAI's parameters into `body`."],
    ["metod", "Unknown field `metod`, did you mean `method`?"],
  ])("%s on a batch line", async (field, message) => {
    const line = { custom_id: "a", method: "POST", url: "/v1/chat/completions", body: { model: "m", messages } };
    await expect(enqueue({ ...line, [field]: "x" })).rejects.toThrow(message);
  });

  test("one request given to enqueueMany", async () => {
    await expect(made({})().enqueueMany({ body: { messages } } as never)).rejects.toThrow(
      "Expected an array of requests, got an object (Object): one request goes to `enqueue`, an iterable to `runBatch`.",
    );
  });
});

describe("the store", () => {
  const wanted = "Expected `store` to be a store, as `sqliteStore({ path })` makes it, got ";
  test.each([
    ["nothing", undefined, "`undefined`"],
    ["a file name", "batchwise.db", "`batchwise.db` (string)"],
    ["a factory that was not called", sqliteStore, "a function: call it"],
    ["a promise of one", Promise.resolve(memoryStore()), "a promise: await it"],
    ["another object", { get() {}, set() {} }, "an object (Object)"],
    ["a store of an earlier contract", without(memoryStore(), "marks"), "an object (MemoryStore) without marks"],
  ])("%s", (_case, store, got) => {
    expect(made({ store })).toThrow(wanted + got);
  });
});

describe("the accounts", () => {
  test.each([
    ["openai", client, "openaiAccount({ client })"],
    ["anthropic", new Anthropic({ apiKey: "key" }), "anthropicAccount({ client })"],
    ["mistral", new Mistral({ apiKey: "key" }), "mistralAccount({ client })"],
    ["gemini", new GoogleGenAI({ apiKey: "key" }), "geminiAccount({ client })"],
    ["vertex", new GoogleGenAI({ vertexai: true, project: "p", location: "l" }), "vertexAccount({ client, storage })"],
    ["bedrock", new Bedrock({ region: "r" }), "bedrockAccount({ client, storage, roleArn })"],
  ])("a raw client of %s", (_name, raw, factory) => {
    expect(made({ accounts: [raw] })).toThrow(`Wrap the client: \`${factory}\``);
    const options = { store: memoryStore(), accounts: [raw], job: "a", requests: [] };
    expect(() => runBatch(options as never)).toThrow(`Wrap the client: \`${factory}\``);
  });

  test.each([
    [
      "one account without a list",
      account,
      "to be an array of accounts, got an object (OpenAiAccount): write `accounts:",
    ],
    ["a key", ["sk-1"], "Expected `accounts[0]` to be an account, as `openaiAccount({ client })` makes it, got `sk-1`"],
    ["a factory that was not called", [openaiAccount], "makes it, got a function: call it"],
  ])("%s", (_case, accounts, message) => {
    expect(made({ accounts })).toThrow(message);
  });
});

test.each([
  [
    "openaiAccount(client)",
    () => openaiAccount(new OpenAI({ apiKey: "key" }) as never),
    "as in `{ client: new OpenAI() }`",
  ],
  ["sqliteStore(path)", () => sqliteStore("jobs.db" as never), "as in `sqliteStore({ path:"],
  [
    "createDispatcher()",
    () => createDispatcher(undefined as never),
    "Expected `options` to be an object, got `undefined`",
  ],
  ["runBatch()", () => runBatch(undefined as never), "Expected `options` to be an object, got `undefined`"],
])("%s is answered with the correct form", (_call, call, words) => {
  expect(call).toThrow(words);
});

test("the array that enqueueMany gives says how many requests were there before", async () => {
  const dispatcher = made({})();
  const lines = (...ids: string[]) => ids.map((id) => ({ id, body: { model: "m", messages } }));
  const first = await dispatcher.enqueueMany(lines("request-1", "request-2"));
  expect([first.length, first.existingCount]).toEqual([2, 0]);
  const next = await dispatcher.enqueueMany(lines("request-1", "request-2", "request-3"));
  expect([next.length, next.existingCount]).toEqual([3, 2]);
  expect(next.map(({ existing }) => existing)).toEqual([true, true, false]);
});

function without(value: object, name: string): object {
  return new Proxy(value, { get: (store, method) => (method === name ? undefined : Reflect.get(store, method)) });
}
