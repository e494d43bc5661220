// The JSON schema of a job, as it is sent with its requests.

import { createHash } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeLine, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import { xaiAccount } from "batchwise/dispatch/xai";
import OpenAI from "openai";
import { expect, test } from "vitest";
import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { OutputSchema } from "../../../src/dispatch/contract/checks.ts";
import type { DispatchRequest, JsonObject } from "../../../src/dispatch/contract/types.ts";
import { canonicalJson } from "../../../src/dispatch/format/canonical.ts";
import type { RunBatchOptions } from "../../../src/dispatch/jobs/run-batch-options.ts";
import { runBatch } from "../../../src/dispatch/run-batch.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";
import { virtualClock } from "../../../src/testing/index.ts";
import { drive } from "../support/drive.ts";
import { START, seeded } from "../support/world.ts";

const text = { type: "string" };
/** As a library gives it: open, and with its version. */
const given = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object", properties: { name: text } };
const strict = { ...given, required: ["name"] };
const sent = { type: "object", properties: { name: text }, required: ["name"], additionalProperties: false };

/** A schema that takes any answer. */
function schemaOf(input: () => Record<string, unknown>): OutputSchema<string> {
  const validate = () => ({ value: "taken" });
  return { "~standard": { version: 1, vendor: "ours", validate, jsonSchema: { input } } };
}

const openai = (fake: FakeProvider): Account =>
  openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch }) });
const anthropic = (fake: FakeProvider): Account =>
  anthropicAccount({ client: new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: fake.fetch }) });
const gemini = (fake: FakeProvider): Account => {
  const httpOptions = { baseUrl: "http://fake.test", fetch: fake.fetch };
  return geminiAccount({ client: new GoogleGenAI({ apiKey: "key", httpOptions }) });
};
const groq = (fake: FakeProvider): Account =>
  openaiAccount({
    client: new OpenAI({ apiKey: "k", baseURL: "http://fake.test/v1", fetch: fake.fetch }),
    service: "groq",
  });

const xai = (fake: FakeProvider): Account =>
  xaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch }) });

type Job = Partial<RunBatchOptions<DispatchRequest, string>>;

/** Runs one request, and returns what the provider's model got, by digest of the fake. */
async function sentBy(account: (fake: FakeProvider) => Account, request: DispatchRequest, job: Job = {}) {
  const dialect = account === xai ? "xai" : "openai";
  const time = virtualClock(START);
  let body: JsonObject = {};
  const answer = '{"name":"Ada"}';
  const keep = (line: FakeLine) => {
    body = line.body;
    if (line.endpoint === "/v1/messages") {
      const usage = { input_tokens: 1, output_tokens: 1 };
      return { status: 200, body: { type: "message", content: [{ type: "text", text: answer }], usage } };
    }
    if (line.endpoint === "/v1beta/generateContent") {
      return { status: 200, body: { candidates: [{ content: { parts: [{ text: answer }] }, finishReason: "STOP" }] } };
    }
    const message = { role: "assistant", content: answer };
    const output = [{ type: "message", content: [{ type: "output_text", text: answer }] }];
    return {
      status: 200,
      body: {
        choices: [{ message, finish_reason: "stop" }],
        output: line.endpoint.includes("chat") ? undefined : output,
      },
    };
  };
  const fake = fakeProvider({ clock: time, answer: keep, dialect });
  let outcome: unknown = null;
  const run = (async () => {
    const schema = schemaOf(() => strict);
    const base = { store: memoryStore(), accounts: [account(fake)], clock: time, random: seeded(1), job: "j", schema };
    for await (const one of runBatch({ ...base, requests: [request], ...job })) outcome = one;
  })();
  let isOver = false;
  run.finally(() => (isOver = true)).catch(() => {});
  await drive(time, fake, async () => isOver);
  await run;
  expect(outcome).toMatchObject({ status: "succeeded", value: "taken" });
  return body;
}

const messages = [{ role: "user", content: "Who?" }];
const contents = [{ role: "user", parts: [{ text: "Who?" }] }];
const chat: DispatchRequest = { body: { model: "m", max_tokens: 9, messages } };
const named = { name: "answer", schema: sent };

test.each([
  ["chat", openai, chat, "response_format", { type: "json_schema", json_schema: { ...named, strict: true } }],
  [
    "Responses, beside other settings of the text",
    openai,
    { endpoint: "/v1/responses", body: { model: "m", input: "Who?", text: { verbosity: "low" } } },
    "text",
    { verbosity: "low", format: { type: "json_schema", ...named, strict: true } },
  ],
  [
    "Messages",
    anthropic,
    { endpoint: "/v1/messages", body: { model: "m", max_tokens: 9, messages } },
    "output_config",
    { format: { type: "json_schema", schema: sent } },
  ],
  ["chat at Claude", anthropic, chat, "output_config", { format: { type: "json_schema", schema: sent } }],
  [
    "generateContent",
    gemini,
    { endpoint: "/v1beta/generateContent", body: { model: "m", contents } },
    "generationConfig",
    { responseMimeType: "application/json", responseJsonSchema: sent },
  ],
] as [string, typeof openai, DispatchRequest, string, JsonObject][])(
  "%s gets the schema, closed and strict",
  async (_name, account, request, field, expected) => {
    expect((await sentBy(account, request))[field]).toEqual(expected);
  },
);

test("a schema with an optional property is sent without `strict`, and not to Claude", async () => {
  const schema = schemaOf(() => given);
  const { response_format } = await sentBy(openai, chat, { schema });
  expect(response_format).toMatchObject({ json_schema: { strict: false } });
  expect(await sentBy(anthropic, chat, { schema })).not.toHaveProperty("output_config");
});

test("xAI gets a schema that is strict, without bounds, and no other", async () => {
  const bounded = { ...sent, properties: { name: { ...text, minLength: 2 } } };
  const { response_format } = await sentBy(xai, chat, { schema: schemaOf(() => bounded) });
  expect(response_format).toEqual({ type: "json_schema", json_schema: { ...named, strict: true } });
  expect(await sentBy(xai, chat, { schema: schemaOf(() => given) })).not.toHaveProperty("response_format");
});

test("bounds go to OpenAI, and Claude gets the schema without them", async () => {
  const bounded = { ...sent, properties: { name: { ...text, pattern: "^A" } } };
  const schema = schemaOf(() => bounded);
  expect(await sentBy(openai, chat, { schema })).toMatchObject({
    response_format: { json_schema: { schema: bounded, strict: true } },
  });
  expect((await sentBy(anthropic, chat, { schema })).output_config).toEqual({
    format: { type: "json_schema", schema: sent },
  });
});

test("a model that is fine-tuned gets neither bounds nor formats", async () => {
  const name = { ...text, pattern: "^A", format: "email" };
  const request = { body: { ...chat.body, model: "ft:m" } };
  const { response_format } = await sentBy(openai, request, {
    schema: schemaOf(() => ({ ...sent, properties: { name } })),
  });
  expect(response_format).toEqual({ type: "json_schema", json_schema: { ...named, strict: true } });
});

test("Claude gets no schema that is recursive, and none beside citations", async () => {
  const recursive = { ...sent, properties: { name: { anyOf: [text, { $ref: "#" }] } } };
  expect(await sentBy(anthropic, chat, { schema: schemaOf(() => recursive) })).not.toHaveProperty("output_config");
  const source = { type: "text", media_type: "text/plain", data: "Ada" };
  const content = [{ type: "document", source, citations: { enabled: true } }];
  const body = { ...chat.body, messages: [{ role: "user", content }] };
  expect(await sentBy(anthropic, { endpoint: "/v1/messages", body })).not.toHaveProperty("output_config");
});

test.each([
  ["a format of its own", openai, { body: { ...chat.body, response_format: { type: "json_object" } } }, {}],
  ["tools", openai, { body: { ...chat.body, tools: [{ type: "function", function: { name: "f" } }] } }, {}],
  ["a format among the defaults", openai, chat, { requestDefaults: { response_format: { type: "json_object" } } }],
  ["a service that takes none", groq, chat, {}],
  ["a schema of texts", openai, chat, { schema: schemaOf(() => text) }],
  [
    "a schema that JSON Schema cannot say",
    openai,
    chat,
    {
      schema: schemaOf(() => {
        throw new Error("Dates cannot be represented.");
      }),
    },
  ],
] as [string, typeof openai, DispatchRequest, Job][])(
  "with %s nothing is added",
  async (_name, account, request, job) => {
    const own = request.body.response_format ?? job.requestDefaults?.response_format;
    expect((await sentBy(account, request, job)).response_format).toEqual(own);
  },
);

test("a schema is looked through once for each model, however the models of a job alternate", async () => {
  const asked: string[] = [];
  const counted = (fake: FakeProvider): Account => {
    const jsonSchemasOf = (model: string) => {
      asked.push(model);
      return "strict" as const;
    };
    return Object.assign(openai(fake), { jsonSchemasOf });
  };
  const requests = Array.from({ length: 12 }, (_, n) => ({ body: { ...chat.body, model: n % 2 === 0 ? "m" : "o" } }));
  await sentBy(counted, chat, { requests });
  expect(asked).toEqual(["m", "o"]);
});

test("another schema of a job is a change of its defaults", async () => {
  const store = memoryStore();
  await sentBy(openai, { id: "a", ...chat }, { store });
  const other = schemaOf(() => ({ ...strict, description: "Someone." }));
  await expect(sentBy(openai, { id: "a", ...chat }, { store, schema: other })).rejects.toMatchObject({
    code: "DEFAULTS_CHANGED",
    message: expect.stringContaining("`schema`"),
  });
});

test("a library that words the same schema in another way changes nothing", async () => {
  const store = memoryStore();
  await sentBy(openai, { id: "a", ...chat }, { store });
  const { $schema: _version, ...reworded } = { ...strict, $comment: "Anew.", required: ["name", "name"] };
  await sentBy(openai, { id: "a", ...chat }, { store, schema: schemaOf(() => reworded) });
});

test("a job whose schema was recorded in its library's own words continues", async () => {
  const store = memoryStore();
  await sentBy(openai, { id: "a", ...chat }, { store });
  const schema = { ...sent, properties: { name: { anyOf: [text, { type: "null" }] } } };
  const [mark] = await store.marks([], START);
  const digest = createHash("sha256").update(canonicalJson(schema)).digest("hex").slice(0, 16);
  const value = JSON.stringify({ at: START, fields: { schema: digest } });
  await store.marks([{ name: mark?.name ?? "", expected: mark?.value ?? null, value }], START);
  await sentBy(openai, { id: "a", ...chat }, { store, schema: schemaOf(() => schema) });
});

test("a body has one identity with and without a schema", async () => {
  const store = memoryStore();
  await sentBy(openai, { id: "a", ...chat }, { store });
  const again = sentBy(openai, { id: "a", ...chat }, { store, onChange: "keep", schema: schemaOf(() => given) });
  expect(await again).toEqual({});
});

test("a job of an earlier version, which recorded no schema, continues with one and records it", async () => {
  const store = memoryStore();
  const none = schemaOf(() => {
    throw new Error("None.");
  });
  await sentBy(openai, { id: "a", ...chat }, { store, schema: none });
  await sentBy(openai, { id: "a", ...chat }, { store });
  const other = sentBy(openai, { id: "a", ...chat }, { store, schema: schemaOf(() => given) });
  await expect(other).rejects.toMatchObject({ code: "DEFAULTS_CHANGED" });
});

test("a schema that no account takes is no part of the defaults", async () => {
  const store = memoryStore();
  await sentBy(groq, { id: "a", ...chat }, { store });
  await sentBy(groq, { id: "a", ...chat }, { store, schema: schemaOf(() => given) });
});
