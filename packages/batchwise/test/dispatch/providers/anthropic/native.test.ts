// Anthropic's own endpoint through a whole dispatcher, over the official client.

import Anthropic from "@anthropic-ai/sdk";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { type FakeAnswer, type FakeLine, fakeProvider } from "batchwise/dispatch/testing";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { drive } from "../../support/drive.ts";
import { isAtRest, world } from "../../support/world.ts";

const endpoint = "/v1/messages";
/** A limit of 0 warms a cache. In OpenAI's format it is refused. */
const body: JsonObject = {
  model: "claude-haiku-4-5",
  max_tokens: 0,
  system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
  messages: [
    { role: "user", content: "Hi" },
    { role: "assistant", content: [{ type: "thinking", thinking: "Hm.", signature: "s" }] },
    { role: "user", content: "And?" },
  ],
};
const message: JsonObject = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-haiku-4-5",
  container: null,
  content: [{ type: "text", text: "Yes.", citations: null }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 5, cache_read_input_tokens: 90, cache_creation_input_tokens: 5, output_tokens: 2 },
};

async function outcomeOf(answer: (line: FakeLine) => FakeAnswer) {
  const { time, store, start } = world();
  const seen: FakeLine[] = [];
  const identify = (line: FakeLine) => String(seen.push(line));
  const fake = fakeProvider({ clock: time, answer, identify });
  const client = new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: fake.fetch });
  const dispatcher = await start({ accounts: [anthropicAccount({ client })], retry: { attempts: 1 } });
  await dispatcher.enqueue({ id: "a", endpoint, body });
  dispatcher.flush();
  await drive(time, fake, () => isAtRest(store, time.now()));
  const outcome = await dispatcher.result("a");
  await dispatcher.stop();
  return { outcome, params: seen[0]?.body };
}

test("bodies travel untouched and come back untouched, and their tokens are counted", async () => {
  const { outcome, params } = await outcomeOf(() => ({ status: 200, body: message }));
  expect(params).toEqual(body);
  expect(outcome).toMatchObject({ status: "succeeded", response: { statusCode: 200, body: message } });
  expect(outcome.usage).toEqual({
    inputTokens: 100,
    cachedTokens: 90,
    outputTokens: 2,
    reasoningTokens: 0,
    totalTokens: 102,
  });
});

test("errors come back as Anthropic writes them", async () => {
  const { outcome } = await outcomeOf(() => ({ status: 400, body: {} }));
  expect(outcome.response).toMatchObject({
    statusCode: 400,
    body: { type: "error", error: { type: "invalid_request_error" } },
  });
});

test("a stream is refused at enqueue", async () => {
  const { start } = world();
  const client = new Anthropic({ apiKey: "key" });
  const dispatcher = await start({ accounts: [anthropicAccount({ client })] });
  await expect(dispatcher.enqueue({ endpoint, body: { ...body, stream: true } })).rejects.toMatchObject({
    code: "INVALID_REQUEST",
    message: expect.stringContaining("`stream`"),
  });
  await dispatcher.stop();
});
