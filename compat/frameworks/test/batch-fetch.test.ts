// Frameworks over `batchFetch`, as their users write them: a thousand calls each share a batch or
// two, and each caller gets its own answer. The provider is the strict fake, in virtual time.

import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { OpenAI as LlamaOpenAI } from "@llamaindex/openai";
import { HTTPClient, Mistral } from "@mistralai/mistralai";
import { embedMany, generateObject, generateText } from "ai";
import { batchFetch, createDispatcher, memoryStore } from "batchwise/dispatch";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeOptions, fakeProvider } from "batchwise/dispatch/testing";
import { virtualClock } from "batchwise/testing";
import OpenAI from "openai";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { drive } from "../../../packages/batchwise/test/dispatch/support/drive.ts";

const ENDS = ["SIGINT", "SIGTERM", "unhandledRejection"];
const listeners = ENDS.map((event) => process.rawListeners(event));
// It listens for the end of the process, which is another file's, too.
const { Agent, OpenAIProvider, Runner } = await import("@openai/agents");
afterAll(() => {
  for (const [index, event] of ENDS.entries()) {
    for (const listener of process.rawListeners(event)) {
      if (listeners[index]?.includes(listener) !== true) process.removeListener(event, listener as () => void);
    }
  }
});

const CALLS = 1_000;
const BASE = { apiKey: "caller", baseURL: "http://elsewhere.test/v1" };
const PATIENT = { maxRetries: 0, timeout: 172_800_000 };

type Fetch = typeof globalThis.fetch;
/** A question to its answer. */
type Ask = (text: string) => Promise<unknown>;

async function rig(options: FakeOptions = {}) {
  const time = virtualClock(Date.UTC(2026, 0, 5, 8));
  const fake = fakeProvider({ clock: time, ...options });
  const client = new OpenAI({ apiKey: "account", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const claude = new Anthropic({ apiKey: "account", baseURL: "http://fake.test", fetch: fake.fetch });
  const httpOptions = { baseUrl: "http://fake.test", fetch: fake.fetch };
  const accounts = [
    openaiAccount({ client, models: ["m", "e"] }),
    anthropicAccount({ client: claude, models: ["c"] }),
    geminiAccount({ client: new GoogleGenAI({ apiKey: "account", httpOptions }), models: ["g"] }),
  ];
  const told: unknown[] = [];
  const onError = (error: unknown): void => void told.push(error);
  const dispatcher = createDispatcher({
    store: memoryStore(),
    accounts,
    clock: time,
    onError,
  });
  onTestFinished(() => dispatcher.stop());
  await dispatcher.start();
  const settled = async <T>(promise: Promise<T>): Promise<T> => {
    let isDone = false;
    const mark = (): void => {
      isDone = true;
    };
    promise.then(mark, mark);
    await drive(time, fake, async () => isDone);
    return promise;
  };
  return { fake, told, settled, fetch: batchFetch(dispatcher) };
}

const texts = (fetch: Fetch): Readonly<Record<string, Ask>> => {
  const ai = createOpenAI({ ...BASE, fetch });
  const langchain = new ChatOpenAI({ model: "m", apiKey: "caller", ...PATIENT, configuration: { ...BASE, fetch } });
  const llama = new LlamaOpenAI({ model: "m" as never, ...BASE, ...PATIENT, additionalSessionOptions: { fetch } });
  const client = new OpenAI({ ...BASE, ...PATIENT, fetch });
  const runner = new Runner({
    modelProvider: new OpenAIProvider({ openAIClient: client as never }),
    tracingDisabled: true,
  });
  const anthropic = new Anthropic({ apiKey: "caller", ...PATIENT, fetch });
  const google = new GoogleGenAI({ apiKey: "caller", httpOptions: { fetch } });
  const fetcher = (input: Parameters<Fetch>[0], init?: RequestInit) =>
    init === undefined ? fetch(input) : fetch(input, init);
  const mistral = new Mistral({ apiKey: "caller", httpClient: new HTTPClient({ fetcher }) });
  return {
    "the client of Anthropic": async (content) => {
      const body = { model: "c", max_tokens: 50, messages: [{ role: "user" as const, content }] };
      const [block] = (await anthropic.messages.create(body)).content;
      return block?.type === "text" ? block.text : null;
    },
    "the client of Google": async (contents) => (await google.models.generateContent({ model: "g", contents })).text,
    "the client of Mistral": async (content) => {
      const { choices } = await mistral.chat.complete({ model: "m", messages: [{ role: "user", content }] });
      return choices[0]?.message?.content;
    },
    "generateText of the AI SDK, with responses": async (prompt) =>
      (await generateText({ model: ai("m"), prompt, maxRetries: 0 })).text,
    "generateText of the AI SDK, with chat completions": async (prompt) =>
      (await generateText({ model: ai.chat("m"), prompt, maxRetries: 0 })).text,
    "ChatOpenAI of LangChain": async (text) => (await langchain.invoke(text)).content,
    "the chat of LlamaIndex": async (content) =>
      (await llama.chat({ messages: [{ role: "user", content }] })).message.content,
    "an agent of OpenAI Agents": async (text) =>
      (await runner.run(new Agent({ name: "a", model: "m", instructions: "Answer." }), text)).finalOutput,
  };
};

const questions = Array.from({ length: CALLS }, (_, index) => `Question ${index}?`);

test.each(Object.keys(texts(globalThis.fetch)))("%s: a thousand callers share a batch", async (name) => {
  const { fake, told, settled, fetch } = await rig();
  const ask = texts(fetch)[name] as Ask;
  const answers = await settled(Promise.all(questions.map((text) => ask(text))));
  expect(answers).toEqual(questions.map((text) => expect.stringContaining(text)));
  const creates = ["batches.create", "messages.create", "gemini.create"] as const;
  expect(creates.map((call) => fake.calls(call)).reduce((sum, calls) => sum + calls)).toBeLessThanOrEqual(2);
  expect([...fake.runs().values()]).toEqual(questions.map(() => 1));
  await settled(Promise.all(questions.map((text) => ask(text))));
  expect(fake.runs().size).toBe(CALLS);
  expect(told).toEqual([]);
});

test("LangChain's batch of a thousand is one, and its embeddings are numbers", async () => {
  const { fake, settled, fetch } = await rig();
  const model = new ChatOpenAI({ model: "m", apiKey: "caller", ...PATIENT, configuration: { ...BASE, fetch } });
  const answers = await settled(model.batch(questions));
  expect(answers.map(({ content }) => content)).toEqual(questions.map((text) => expect.stringContaining(text)));
  const embeddings = new OpenAIEmbeddings({
    model: "e",
    apiKey: "caller",
    ...PATIENT,
    configuration: { ...BASE, fetch },
  });
  const vectors = await settled(embeddings.embedDocuments(questions.slice(0, 700)));
  expect(new Set(vectors.map((vector) => vector.join())).size).toBe(700);
  expect(fake.calls("batches.create")).toBeLessThanOrEqual(3);
});

test("embedMany and generateObject of the AI SDK get vectors and objects", async () => {
  const content = JSON.stringify({ city: "Paris" });
  const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const chat = { status: 200, body: { id: "c", object: "chat.completion", created: 1, model: "m", choices, usage } };
  const { settled, fetch } = await rig({ answer: () => chat });
  const schema = z.object({ city: z.string() });
  const model = createOpenAI({ ...BASE, fetch }).chat("m");
  const object = await settled(generateObject({ model, schema, prompt: "Where?", maxRetries: 0 }));
  expect(object.object).toEqual({ city: "Paris" });
  const other = await rig();
  const ofTexts = createOpenAI({ ...BASE, fetch: other.fetch }).embedding("e");
  const { embeddings } = await other.settled(
    embedMany({ model: ofTexts, values: questions.slice(0, 300), maxRetries: 0 }),
  );
  expect(new Set(embeddings.map((vector) => vector.join())).size).toBe(300);
});
