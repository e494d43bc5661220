// Behaviour of Vertex AI that the account suite does not test: bucket addresses, returned labels,
// cleaning up, limits.

import { GoogleGenAI } from "@google/genai";
import type { ObjectStorage } from "batchwise/dispatch";
import { vertexAccount } from "batchwise/dispatch/vertex";
import { describe, expect, test } from "vitest";
import type { Account, BatchName, CallOptions, ProviderBatch } from "../../../../src/dispatch/contract/account.ts";
import { type AnswerFormat, answerFormat, withFormat } from "../../../../src/dispatch/requests/check/answer-format.ts";
import { inputOf } from "../account-suite.ts";
import { openVertex, vertexClient } from "./vertex-case.ts";

const KEY = "01JD3K9V7QX2ABCDEFGHJKMNPQ";
const HOUR = 3_600_000;
const name: BatchName = { key: KEY, attempt: 1, endpoint: "/v1/chat/completions", model: "gemini-2.5-flash" };

function call(): CallOptions {
  return { signal: new AbortController().signal, timeoutMs: 10_000 };
}

async function submit(account: Account, of: BatchName = name): Promise<{ fileId: string; batch: ProviderBatch }> {
  const body = JSON.stringify({ model: of.model, messages: [{ role: "user", content: "Hi" }] });
  const ids = [0, 1].map((ord) => `EFGHJKMNPQRS_000000${ord}`);
  const lines = ids.map((customId) => account.encodeLine({ customId, endpoint: of.endpoint, body }));
  const input = { ...inputOf(lines), fileName: `${of.key}-${of.attempt}.jsonl` };
  const { fileId } = (await account.upload?.(input, call())) ?? { fileId: "" };
  return { fileId, batch: await account.create({ ...of, input: { fileId }, firstBody: async () => body }, call()) };
}

async function results(account: Account, batch: ProviderBatch | null): Promise<string[]> {
  const ids: string[] = [];
  for await (const { customId } of account.results(batch as ProviderBatch, call(), name)) ids.push(customId);
  return ids.sort();
}

const textOf = (bytes: Uint8Array | null) => Buffer.from(bytes ?? []).toString();

test("input and output lie in folders of the prefix, and the ids come back in labels", async () => {
  const { account, gcs, clock } = await openVertex();
  const { fileId, batch } = await submit(account);
  expect(fileId).toBe(`gs://bucket/folder/input/${KEY}-1.jsonl`);
  expect(batch).toMatchObject({ inputFileId: fileId, tag: { key: KEY, attempt: 1 } });
  await clock.advance(HOUR);
  const done = await account.retrieve(batch.id, call());
  const folder = `folder/output/${KEY}-1/prediction-model-2026-01-01T00:00:00.000Z`;
  expect(done?.resultRefs).toEqual([`gs://bucket/${folder}`]);
  expect(await results(account, done)).toEqual(["EFGHJKMNPQRS_0000000", "EFGHJKMNPQRS_0000001"]);
  for (const object of [`folder/input/${KEY}-1.jsonl`, `${folder}/predictions.jsonl`]) {
    expect(textOf(gcs.read("bucket", object))).toContain('"labels":{"batchwise_id":"efghjkmnpqrs_0000000"}');
  }
});

test("a job's schema goes to Gemini in its own field, and not to Claude and open models", async () => {
  const { account } = await openVertex();
  const schema = {
    type: "object",
    properties: { a: { type: "string" } },
    required: ["a"],
    additionalProperties: false,
  };
  const format = answerFormat(schema, name.model, [account]);
  const messages = [{ role: "user", content: "Hi" }];
  const body = withFormat(name.endpoint, { model: name.model, messages }, format as AnswerFormat);
  const line = account.encodeLine({ customId: "E_1", endpoint: name.endpoint, body: JSON.stringify(body) });
  expect(JSON.parse(line).request.generationConfig).toEqual({
    responseMimeType: "application/json",
    responseJsonSchema: schema,
  });
  for (const model of ["claude-haiku-4-5", "meta/llama-3.3-70b-instruct-maas"]) {
    expect(answerFormat(schema, model, [account])).toBeNull();
  }
});

test("results that do not have the labels are not read: they would run again", async () => {
  const { account, gcs, clock } = await openVertex();
  const { batch } = await submit(account);
  await clock.advance(HOUR);
  const done = await account.retrieve(batch.id, call());
  const [object = ""] = gcs.names("bucket").filter((each) => each.endsWith("predictions.jsonl"));
  gcs.write("bucket", object, textOf(gcs.read("bucket", object)).replaceAll("batchwise_id", "something"));
  await expect(results(account, done)).rejects.toMatchObject({ code: "RESULTS_UNREADABLE" });
});

test("files of parts are read only where there is no whole", async () => {
  const { account, gcs, clock } = await openVertex();
  const { batch } = await submit(account);
  await clock.advance(HOUR);
  const done = await account.retrieve(batch.id, call());
  const [object = ""] = gcs.names("bucket").filter((each) => each.endsWith("/predictions.jsonl"));
  const whole = textOf(gcs.read("bucket", object));
  gcs.write(
    "bucket",
    object.replace("predictions", "incremental_predictions"),
    whole.slice(0, whole.indexOf("\n") + 1),
  );
  expect(await results(account, done)).toHaveLength(2);
  gcs.write("bucket", object.replace("predictions.jsonl", "predictions-00001.jsonl"), whole);
  expect(await results(account, done)).toHaveLength(4);
});

test("a folder without results rejects: they may be there later", async () => {
  const { account } = await openVertex();
  const batch = { resultRefs: ["gs://bucket/folder/output/none"] } as unknown as ProviderBatch;
  await expect(results(account, batch)).rejects.toMatchObject({ code: "RESULTS_UNREADABLE" });
});

test("a job is found by its labels, in every attempt and no other batch's", async () => {
  const { account, fake } = await openVertex();
  fake.addForeign({ requests: 1, surface: "vertex" });
  const made = [await submit(account), await submit(account, { ...name, attempt: 2 })];
  await submit(account, { ...name, key: KEY.replace("01JD", "01JE") });
  const found = await account.find?.(name, call());
  expect(found?.map(({ id }) => id).sort()).toEqual(made.map(({ batch }) => batch.id).sort());
});

test("an input that is gone fails the job, and blames no request", async () => {
  const { account, clock } = await openVertex();
  const { fileId } = await submit(account);
  await account.deleteFile?.(fileId, call());
  const gone = await account.create({ ...name, input: { fileId }, firstBody: async () => "" }, call());
  await clock.advance(HOUR);
  expect(await account.retrieve(gone.id, call())).toMatchObject({
    state: "failed",
    failure: { kind: "unknown", message: `There is no object at ${fileId}.` },
    resultRefs: [],
  });
});

test.each([
  ["an error", { body: { error: { code: 500, message: "Internal error.", status: "INTERNAL" } } }],
  ["the page of a proxy", { body: { message: "Please log in." } }],
  ["an object in place of the list", { body: { batchPredictionJobs: {} } }],
  ["a list of what could not be asked", { body: { unreachable: ["us-east1"] } }],
  ["a list", { text: "[]" }],
])("%s with a 200 is no answer to a call for jobs: an absent job is created again", async (_what, answer) => {
  const { account, fake } = await openVertex();
  const tag = { key: KEY, attempt: 1, endpoint: "/v1/chat/completions", model: "gemini-2.5-flash" };
  const reply = { on: "vertex.list", accept: false, reply: { status: 200, ...answer } } as const;
  fake.inject(reply);
  await expect(account.find?.(tag, call())).rejects.toThrow("with an array `batchPredictionJobs`, got ");
  fake.inject(reply);
  await expect(account.list({ cursor: null, limit: 10 }, call())).rejects.toThrow("with an array");
});

test.each([{}, { nextPageToken: "" }, { batchPredictionJobs: [] }])("%j is a list without jobs", async (body) => {
  const { account, fake } = await openVertex();
  fake.inject({ on: "vertex.list", accept: false, reply: { status: 200, body } });
  expect(await account.list({ cursor: null, limit: 10 }, call())).toEqual({ batches: [], next: null });
});

test("uploads are listed by their names and deleted by their addresses", async () => {
  const { account, gcs } = await openVertex();
  const { fileId } = await submit(account);
  gcs.write("bucket", "elsewhere.jsonl", "not ours");
  const listed: unknown[] = [];
  for await (const file of account.listFiles?.(call()) ?? []) listed.push(file);
  expect(listed).toEqual([{ fileId, fileName: `${KEY}-1.jsonl` }]);
  await account.deleteFile?.(fileId, call());
  await account.deleteFile?.(fileId, call());
  expect(gcs.names("bucket")).toEqual(["elsewhere.jsonl"]);
});

test("cleaning up takes input, output and job, also twice; without the option there is none", async () => {
  const { account, gcs, clock } = await openVertex({}, { cleanup: true });
  const { fileId, batch } = await submit(account);
  await clock.advance(HOUR);
  await account.retrieve(batch.id, call());
  expect(gcs.names("bucket")).toHaveLength(2);
  const done = { ...name, providerBatchId: batch.id, fileId };
  await account.cleanup?.(done, call());
  expect(gcs.names("bucket")).toEqual([]);
  expect(await account.retrieve(batch.id, call())).toBe(null);
  await account.cleanup?.(done, call());
  expect((await openVertex()).account.cleanup).toBe(undefined);
});

describe("Claude", () => {
  const model = "claude-sonnet-4-5";

  test("has four jobs at once: an account that names it keeps to that, a fifth waits", async () => {
    const { account } = await openVertex({}, { models: [model, "gemini-2.5-flash"] });
    expect(account.capabilities.limits.maxEnqueuedBatches).toBe(4);
    expect((await openVertex()).account.capabilities.limits.maxEnqueuedBatches).toBe(Infinity);
    for (let attempt = 1; attempt <= 4; attempt += 1) await submit(account, { ...name, model, attempt });
    const refused = await submit(account, { ...name, model, attempt: 5 }).catch((error: unknown) => error);
    expect(account.classify(refused, "create")).toMatchObject({ kind: "tokenLimit", code: "RESOURCE_EXHAUSTED" });
    await submit(account, { ...name, attempt: 6 });
  });
});

/** A client that reports another version. */
function dated(version: string): GoogleGenAI {
  const client = vertexClient("http://fake.test");
  const headers = { "x-goog-api-client": `google-genai-sdk/${version} gl-node/v24.9.0` };
  return Object.assign(client, { apiClient: { clientOptions: { httpOptions: { headers } } } });
}

describe("options", () => {
  const storage = { put() {}, get() {}, list() {}, delete() {}, uriOf: (object: string) => `gs://b/${object}` };
  const good = { client: vertexClient("http://fake.test"), storage: storage as unknown as ObjectStorage };

  test.each([
    [
      { client: new GoogleGenAI({ apiKey: "key" }) },
      "Expected `client` to be one of Vertex AI, made with `vertexai: true`",
    ],
    [{ client: { vertexai: true, batches: {} } }, "Expected `client.batches` to be an object with create, get, cancel"],
    [{ client: { vertexai: true, batches: vertexClient("").batches } }, "got an object without its `apiClient`"],
    [{ client: dated("2.14.0") }, "of @google/genai 2.15 or later, got one of version 2.14.0, which may repeat calls"],
    [{ storage: {} }, "Expected `storage` to be an object with put, get, list, delete, uriOf"],
    [{ storage: { ...storage, uriOf: (x: string) => `s3://b/${x}` } }, "one in Cloud Storage, got one at s3://b/"],
    [
      { family: "llama" },
      'Expected `family` to be "gemini", "claude", "openai", "embedding" or a function of the model, got "llama"',
    ],
    [{ modelPath: "x" }, "Expected `modelPath` to be a function"],
    [{ defaultMaxTokens: 0 }, "Expected `defaultMaxTokens` to be an integer >= 1"],
    [{ famly: "gemini" }, "Unknown option `famly`, did you mean `family`?"],
  ])("%# are refused in words", (own, message) => {
    expect(() => vertexAccount({ ...good, ...own } as never)).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining(message) }),
    );
  });

  test("say how to call a model, and its name", () => {
    const check = (own: object, model: string, endpoint: string) =>
      vertexAccount({ ...good, ...own }).checkBody(endpoint, {
        model,
        contents: [],
        messages: [{ role: "user", content: "a" }],
      });
    expect(() => check({}, "my-model", "/v1/chat/completions")).toThrow("must begin with its publisher");
    const modelPath = () => "projects/p/locations/l/models/1";
    expect(() => check({ modelPath }, "my-model", "/v1beta/generateContent")).not.toThrow();
    expect(() => check({ modelPath, family: "claude" }, "my-model", "/v1/messages")).not.toThrow();
    expect(() => check({ modelPath, family: () => "claude" }, "my-model", "/v1beta/generateContent")).toThrow(
      "not served",
    );
  });
});
