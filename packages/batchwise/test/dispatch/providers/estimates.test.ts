// `estimate` at each provider, with the library's price table: a listed model has its batch price;
// any other is named and has none.

import Anthropic from "@anthropic-ai/sdk";
import { Bedrock } from "@aws-sdk/client-bedrock";
import { S3 } from "@aws-sdk/client-s3";
import { GoogleGenAI } from "@google/genai";
import { Storage } from "@google-cloud/storage";
import { Mistral } from "@mistralai/mistralai";
import { type Account, createDispatcher, type JsonObject, memoryStore } from "batchwise/dispatch";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { bedrockAccount } from "batchwise/dispatch/bedrock";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { localAccount } from "batchwise/dispatch/local";
import { mistralAccount } from "batchwise/dispatch/mistral";
import { openaiAccount } from "batchwise/dispatch/openai";
import { gcsStorage, s3Storage } from "batchwise/dispatch/storage";
import { vertexAccount } from "batchwise/dispatch/vertex";
import OpenAI from "openai";
import { expect, test } from "vitest";

const region = "us-east-1";
const credentials = { accessKeyId: "key", secretAccessKey: "secret" };

const accounts: Readonly<Record<string, () => Account>> = {
  openai: () => openaiAccount({ client: new OpenAI({ apiKey: "key" }) }),
  anthropic: () => anthropicAccount({ client: new Anthropic({ apiKey: "key" }) }),
  gemini: () => geminiAccount({ client: new GoogleGenAI({ apiKey: "key" }) }),
  vertex: () =>
    vertexAccount({
      client: new GoogleGenAI({ vertexai: true, project: "p", location: "us-central1" }),
      storage: gcsStorage({ client: new Storage({ projectId: "p" }), bucket: "bucket" }),
    }),
  bedrock: () =>
    bedrockAccount({
      client: new Bedrock({ region, credentials, maxAttempts: 1 }),
      storage: s3Storage({ client: new S3({ region, credentials }), bucket: "bucket" }),
      roleArn: "arn:aws:iam::123456789012:role/bedrock-batches",
    }),
  mistral: () => mistralAccount({ client: new Mistral({ apiKey: "key" }) }),
  local: () => localAccount({ handler: () => ({}) }),
};

const chat: JsonObject = { messages: [{ role: "user", content: "word ".repeat(100) }], max_tokens: 100 };

/** Provider, model, and its list prices per million tokens of input and output. */
test.each([
  ["openai", "gpt-4o-mini", 0.15, 0.6],
  ["anthropic", "claude-haiku-4-5-20251001", 1, 5],
  ["gemini", "gemini-2.5-flash", 0.3, 2.5],
  ["gemini", "models/gemini-2.5-pro", 1.25, 10],
  ["vertex", "google/gemini-3.1-pro-preview", 2, 12],
  ["vertex", "publishers/google/models/gemini-2.5-flash-lite", 0.1, 0.4],
  ["vertex", "claude-haiku-4-5@20251001", 1, 5],
  ["bedrock", "us.amazon.nova-lite-v1:0", 0.06, 0.24],
  ["bedrock", "meta.llama3-3-70b-instruct-v1:0", 0.72, 0.72],
  ["bedrock", "global.anthropic.claude-haiku-4-5-20251001-v1:0", 1, 5],
  ["mistral", "mistral-small-2603", 0.15, 0.6],
] as const)("at %s, %s costs half of its list price", async (provider, model, input, output) => {
  const { price, tokens, unknownModels } = await estimate(provider, { ...chat, model });
  expect(unknownModels).toEqual([]);
  expect(tokens).toBeGreaterThan(90);
  expect(price?.input).toBeCloseTo((tokens * input) / 2_000_000, 12);
  expect(price?.most).toBeCloseTo((tokens * input + 100 * output) / 2_000_000, 12);
});

test.each([
  ["openai", "gpt-of-tomorrow"],
  ["anthropic", "claude-of-tomorrow"],
  ["gemini", "gemini-of-tomorrow"],
  ["vertex", "meta/llama-3.3-70b-instruct-maas"],
  ["bedrock", "eu.amazon.nova-lite-v1:0"],
  ["mistral", "mistral-small-latest"],
  ["local", "my-model"],
] as const)("at %s, %s has no price, and is named", async (provider, model) => {
  const { price, unknownModels } = await estimate(provider, { ...chat, model });
  expect([price, unknownModels]).toEqual([null, [model]]);
});

async function estimate(provider: string, body: JsonObject) {
  const account = accounts[provider]?.();
  if (account === undefined) throw new Error(`Expected an account for ${provider}.`);
  const dispatcher = createDispatcher({ store: memoryStore(), accounts: [account] });
  try {
    return await dispatcher.estimate([{ body }]);
  } finally {
    await dispatcher.stop();
  }
}
