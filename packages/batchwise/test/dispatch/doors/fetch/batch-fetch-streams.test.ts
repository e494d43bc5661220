// `batchFetch` with `streams: "whole"`: the official clients read the stream and assemble the same
// answer as without a stream.

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { batchFetch, createDispatcher, type JsonObject, memoryStore } from "batchwise/dispatch";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import { virtualClock } from "../../../../src/testing/index.ts";
import { drive } from "../../support/drive.ts";
import { START, seeded } from "../../support/world.ts";

const PATIENT = { apiKey: "caller", maxRetries: 0, timeout: 172_800_000 };

async function rig(body: JsonObject) {
  const time = virtualClock(START);
  const fake = fakeProvider({ clock: time, answer: () => ({ status: 200, body }) });
  const client = new OpenAI({ apiKey: "account", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const claude = new Anthropic({ apiKey: "account", baseURL: "http://fake.test", fetch: fake.fetch });
  const httpOptions = { baseUrl: "http://fake.test", fetch: fake.fetch };
  const accounts = [
    openaiAccount({ client, models: ["m"] }),
    anthropicAccount({ client: claude, models: ["c"] }),
    geminiAccount({ client: new GoogleGenAI({ apiKey: "account", httpOptions }), models: ["g"] }),
  ];
  const dispatcher = createDispatcher({ store: memoryStore(), accounts, clock: time, random: seeded(1) });
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
  return { fake, settled, fetch: batchFetch(dispatcher, { streams: "whole" }) };
}

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const call = { id: "call_1", type: "function", function: { name: "find", arguments: '{"city":"Paris"}' } };
const completion = {
  ...{ id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m", usage },
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "It is here.", refusal: null },
      finish_reason: "stop",
      logprobs: null,
    },
    {
      index: 1,
      message: { role: "assistant", content: null, refusal: null, tool_calls: [call] },
      finish_reason: "tool_calls",
      logprobs: null,
    },
  ],
};

test("chat completions of openai, with a tool call and with the usage where it was requested", async () => {
  const { fake, settled, fetch } = await rig(completion);
  const client = new OpenAI({ ...PATIENT, fetch });
  const body = { model: "m", n: 2, messages: [{ role: "user" as const, content: "Where?" }] };
  const stream = client.chat.completions.stream({ ...body, stream_options: { include_usage: true } });
  const { choices, usage: counted } = await settled(stream.finalChatCompletion());
  const plain = await settled(client.chat.completions.create(body));
  expect(choices).toMatchObject(plain.choices.map(({ index, finish_reason }) => ({ index, finish_reason })));
  expect(choices[0]?.message.content).toBe("It is here.");
  expect(choices[1]?.message.tool_calls).toMatchObject([{ function: call.function }]);
  expect(counted).toEqual(usage);
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  for await (const chunk of await settled(client.chat.completions.create({ ...body, stream: true })))
    chunks.push(chunk);
  expect(chunks.every((chunk) => chunk.usage === undefined)).toBe(true);
  expect(fake.runs().size).toBe(1);
});

test("responses of openai, with a text, a refusal and a function call", async () => {
  const text = { type: "output_text", text: "It is here.", annotations: [] };
  const item = { id: "msg_1", type: "message", role: "assistant", status: "completed", content: [text] };
  const refusal = { ...item, id: "msg_2", content: [{ type: "refusal", refusal: "No." }] };
  const find = {
    id: "fc_1",
    type: "function_call",
    call_id: "c",
    name: "find",
    arguments: '{"city":"Paris"}',
    status: "completed",
  };
  const response = {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "m",
    status: "completed",
    output: [item, refusal, find],
  };
  const { settled, fetch } = await rig(response);
  const client = new OpenAI({ ...PATIENT, fetch });
  const stream = client.responses.stream({ model: "m", input: "Where?" });
  const types: string[] = [];
  stream.on("event", ({ type }) => void types.push(type));
  const final = await settled(stream.finalResponse());
  expect(final.output).toMatchObject(response.output);
  expect(final.output_text).toBe("It is here.");
  expect(types[0]).toBe("response.created");
  expect(types.at(-1)).toBe("response.completed");
  expect(types).toContain("response.refusal.done");
});

test("messages of Anthropic, with thoughts and a tool call", async () => {
  const content = [
    { type: "thinking", thinking: "Hm.", signature: "sig" },
    { type: "text", text: "It is here." },
    { type: "tool_use", id: "t", name: "find", input: { city: "Paris" } },
  ];
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "c",
    content,
    stop_reason: "tool_use",
    stop_sequence: null,
  };
  const { settled, fetch } = await rig({ ...message, usage: { input_tokens: 3, output_tokens: 4 } });
  const client = new Anthropic({ ...PATIENT, fetch });
  const stream = client.messages.stream({
    model: "c",
    max_tokens: 50,
    messages: [{ role: "user", content: "Where?" }],
  });
  expect(await settled(stream.finalMessage())).toMatchObject({
    ...message,
    usage: { input_tokens: 3, output_tokens: 4 },
  });
});

test("content of Gemini", async () => {
  const candidates = [{ content: { role: "model", parts: [{ text: "It is here." }] }, finishReason: "STOP" }];
  const { settled, fetch } = await rig({ candidates });
  const google = new GoogleGenAI({ apiKey: "caller", httpOptions: { fetch } });
  const texts = settled(
    (async () => {
      const found: unknown[] = [];
      for await (const { text } of await google.models.generateContentStream({ model: "g", contents: "Where?" }))
        found.push(text);
      return found;
    })(),
  );
  expect(await texts).toEqual(["It is here."]);
});

test("a refusal is an error and no stream", async () => {
  const { settled, fetch } = await rig({});
  const client = new OpenAI({ ...PATIENT, fetch });
  const body = { model: "absent", messages: [{ role: "user" as const, content: "Where?" }], stream: true as const };
  await expect(settled(client.chat.completions.create(body) as Promise<unknown>)).rejects.toBeInstanceOf(
    OpenAI.NotFoundError,
  );
});
