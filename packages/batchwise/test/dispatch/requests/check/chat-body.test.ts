// Which chat bodies OpenAI's types refuse at enqueue, and which pass: dialects, other endpoints,
// stored bodies.

import { createDispatcher, type DispatcherOptions, type JsonObject, memoryStore, runBatch } from "batchwise/dispatch";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import { expect, test } from "vitest";
import { chatMistake } from "../../../../src/dispatch/requests/check/chat-body.ts";

const user = { role: "user", content: "hello" };
const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
const tool = { type: "function", function: { name: "f", parameters: { type: "object" }, strict: true } };

test.each<[JsonObject, string]>([
  [{ messages: [] }, "expected `messages` to be a non-empty array, got an array of 0"],
  [{ messages: ["hello"] }, "expected `messages[0]` to be an object, got `hello` (string)"],
  [
    { messages: [user, { role: "usr", content: "x" }] },
    "expected `messages[1].role` to be one of developer, system, user, assistant, tool, function, got `usr` (string)",
  ],
  [{ messages: [{ content: "x" }] }, "expected `messages[0].role` to be one of"],
  [
    { messages: [{ role: "user" }] },
    "expected `messages[0].content` to be a string or a non-empty array of parts, got",
  ],
  [{ messages: [{ role: "user", content: null }] }, "expected `messages[0].content`"],
  [{ messages: [{ role: "user", content: 7 }] }, "expected `messages[0].content`"],
  [{ messages: [{ role: "user", content: [] }] }, "expected `messages[0].content`"],
  [{ messages: [{ role: "assistant", content: null, tool_calls: [] }] }, "where there are no `tool_calls`, got `null`"],
  [{ messages: [{ role: "user", content: ["x"] }] }, "expected `messages[0].content[0]` to be an object"],
  [{ messages: [{ role: "user", content: [{ text: "x" }] }] }, "expected `messages[0].content[0].type` to be a string"],
  [{ messages: [{ role: "user", content: [{ type: "text" }] }] }, "expected `messages[0].content[0].text`"],
  [
    { messages: [{ role: "user", content: [{ type: "image_url", image_url: "https://a" }] }] },
    "expected `messages[0].content[0].image_url` to be an object with a string `url`, got `https://a` (string)",
  ],
  [{ messages: [{ role: "tool", content: "x" }] }, "expected `messages[0].tool_call_id` to be a string"],
  [
    { messages: [{ role: "assistant", tool_calls: [{ ...call, function: { name: "f", arguments: {} } }] }] },
    "expected `messages[0].tool_calls[0].function.arguments` to be a string, got an object (Object)",
  ],
  [{ messages: [user], temperature: "0" }, "expected `temperature` to be a number from 0 to 2, got `0` (string)"],
  [{ messages: [user], temperature: 2.1 }, "expected `temperature` to be a number from 0 to 2, got `2.1` (number)"],
  [{ messages: [user], top_p: -0.1 }, "expected `top_p` to be a number from 0 to 1"],
  [{ messages: [user], n: 0 }, "expected `n` to be an integer from 1 to 128, got `0` (number)"],
  [{ messages: [user], n: 1.5 }, "expected `n` to be an integer"],
  [{ messages: [user], max_tokens: 0 }, "expected `max_tokens` to be an integer >= 1"],
  [{ messages: [user], max_completion_tokens: "9" }, "expected `max_completion_tokens`"],
  [{ messages: [user], presence_penalty: 3 }, "expected `presence_penalty` to be a number from -2 to 2"],
  [{ messages: [user], seed: 1.5 }, "expected `seed` to be an integer, got"],
  [{ messages: [user], stop: ["a", 1] }, "expected `stop` to be a string or an array of 1 to 4 strings"],
  [{ messages: [user], logprobs: 1 }, "expected `logprobs` to be a boolean"],
  [{ messages: [user], top_logprobs: 21 }, "expected `top_logprobs` to be an integer from 0 to 20"],
  [
    { messages: [user], response_format: "json_object" },
    "expected `response_format` to be an object with a string `type`",
  ],
  [{ messages: [user], tools: tool }, "expected `tools` to be an array"],
  [{ messages: [user], tools: [{ name: "f" }] }, "expected `tools[0].type` to be a string"],
  [{ messages: [user], tools: [{ type: "function", name: "f" }] }, "expected `tools[0].function` to be an object"],
  [
    { messages: [user], tools: [{ type: "function", function: {} }] },
    "expected `tools[0].function.name` to be a string",
  ],
])("%j is refused", (body, message) => {
  expect(chatMistake(body)).toContain(message);
});

test.each<JsonObject>([
  { messages: [user, { role: "assistant", content: "" }, { role: "assistant", tool_calls: [call] }] },
  {
    messages: [
      { role: "developer", content: [{ type: "text", text: "" }] },
      { ...user, name: "ann", extra: 1 },
    ],
  },
  {
    messages: [
      { role: "assistant", content: null, refusal: "no" },
      { role: "tool", tool_call_id: "c1", content: "x" },
    ],
  },
  { messages: [{ role: "assistant", content: null, tool_calls: [{ id: "c", type: "custom", custom: {} }] }] },
  { messages: [{ role: "assistant", content_blocks: [{ type: "text", text: "x" }] }] },
  { messages: [{ role: "function", name: "f", content: null }] },
  {
    messages: [
      {
        role: "user",
        content: [
          { type: "video_url", video_url: "x" },
          { type: "image_url", image_url: { url: "x" } },
        ],
      },
    ],
  },
  {
    messages: [user],
    temperature: 2,
    top_p: 0,
    n: 1,
    max_tokens: 1,
    seed: -5,
    stop: "x",
    top_logprobs: 0,
    logprobs: true,
  },
  { messages: [user], temperature: null, n: null, stop: null, tools: null, user: null, response_format: null },
  {
    messages: [user],
    tools: [tool, { type: "custom", custom: { name: "c" } }, { type: "web_search" }],
    tool_choice: "auto",
  },
  { messages: [user], top_k: 40, guided_json: "x", chat_template_kwargs: {}, reasoning_effort: "none" },
])("%j passes", (body) => {
  expect(chatMistake(body)).toBeNull();
});

const unused = async (): Promise<never> => {
  throw new Error("not called");
};
const call404 = new Proxy({}, { get: () => unused }) as never;
const client = { files: call404, batches: call404, messages: { batches: call404 } } as never;

function open(options: Partial<DispatcherOptions> = {}) {
  return createDispatcher({ store: memoryStore(), accounts: [openaiAccount({ client })], ...options });
}

const wrong = { id: "a", body: { model: "m", messages: [user], n: 0 } };

test("enqueue refuses a wrong body with the path, the expected and the actual value, and stores nothing of the call", async () => {
  const dispatcher = open({ requestDefaults: { temperature: 3 } });
  const refused = { code: "INVALID_REQUEST", message: expect.stringContaining("expected `temperature`") };
  await expect(dispatcher.enqueue({ body: { model: "m", messages: [user] } })).rejects.toMatchObject(refused);
  const good = { body: { model: "m", messages: [user], temperature: 1 } };
  await expect(dispatcher.enqueueMany([good, { body: { ...good.body, n: 0 } }])).rejects.toThrow(
    "requests[1]: The request cannot be sent: expected `n` to be an integer from 1 to 128, got `0` (number). " +
      "`checkBodies: false` of the account lets it pass, where its service takes it.",
  );
  const line = { custom_id: "l", method: "POST", url: "/v1/chat/completions", body: { ...good.body, n: 0 } } as const;
  await expect(dispatcher.enqueue(line)).rejects.toThrow("expected `n`");
  expect((await dispatcher.requests()).requests).toEqual([]);
});

test("`checkBodies: false` of the dispatcher, or of each account that serves the request, lets every body pass", async () => {
  await open({ checkBodies: false }).enqueue(wrong);
  const dialect = openaiAccount({ client, name: "dialect", checkBodies: false });
  await open({ accounts: [dialect] }).enqueue(wrong);
  await expect(open({ accounts: [dialect, openaiAccount({ client })] }).enqueue(wrong)).rejects.toThrow("expected `n`");
  await open({ accounts: [dialect, openaiAccount({ client, models: ["other"] })] }).enqueue(wrong);
  expect(() => openaiAccount({ client, checkBodies: "no" as never })).toThrow("Expected `checkBodies` to be a boolean");
  expect(() => open({ checkBodies: 1 as never })).toThrow("Expected `checkBodies` to be a boolean");
});

test("bodies of other endpoints are not looked at", async () => {
  const dispatcher = open({ accounts: [anthropicAccount({ client })] });
  const body = { model: "m", max_tokens: 9, temperature: 7, messages: [{ role: "user", content: [] }] };
  await dispatcher.enqueue({ endpoint: "/v1/messages", body });
});

test("stored requests are not checked again: the same request is existing, also in a job", async () => {
  const store = memoryStore();
  await open({ store, checkBodies: false }).enqueue(wrong);
  const dispatcher = open({ store });
  expect(await dispatcher.enqueue(wrong)).toMatchObject({ existing: true });
  expect(await dispatcher.enqueueMany([wrong])).toMatchObject([{ existing: true }]);
  const two = [wrong, { ...wrong, id: "b" }];
  await expect(dispatcher.enqueueMany(two)).rejects.toThrow("requests[1]: The request cannot be sent: expected `n`");
  const job = runBatch({ store, accounts: [openaiAccount({ client })], job: "j", requests: [{ ...wrong, id: "c" }] });
  await expect(job.next()).rejects.toThrow("requests[0]: The request cannot be sent: expected `n`");
});
