import { GoogleGenAI } from "@google/genai";
import { type GeminiAccountOptions, geminiAccount } from "batchwise/dispatch/gemini";
import { type FakeOptions, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import type { Account, BatchName, CreateInput, ResultLine } from "../../../../src/dispatch/contract/account.ts";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { geminiFileCase, geminiInlineCase } from "../account-cases.ts";
import { accountSuite, inputOf } from "../account-suite.ts";

accountSuite(geminiInlineCase, "in the process");
accountSuite(geminiFileCase, "in the process");

const HOUR = 3_600_000;
const KEY = "01JD3K9V7QX2ABCDEFGHJKMNPQ";
const call = () => ({ signal: new AbortController().signal, timeoutMs: 10_000 });
const name = (endpoint: string): BatchName => ({ key: KEY, attempt: 1, endpoint, model: "gemini-2.5-flash" });

interface Rig {
  readonly fake: FakeProvider;
  readonly clock: VirtualClock;
  readonly account: Account;
}

function rig(options: Partial<GeminiAccountOptions> = {}, fakeOptions: FakeOptions = {}): Rig {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const fake = fakeProvider({ clock, ...fakeOptions });
  const httpOptions = {
    baseUrl: "http://fake.test",
    fetch: fake.fetch,
    retryOptions: { attempts: 5, initialDelay: 0.001 },
  };
  return {
    fake,
    clock,
    account: geminiAccount({ client: new GoogleGenAI({ apiKey: "key", httpOptions }), ...options }),
  };
}

function linesOf(account: Account, endpoint: string, bodies: readonly JsonObject[]): string[] {
  return bodies.map((body, ord) => {
    account.checkBody(endpoint, body);
    return account.encodeLine({ customId: `line_${ord}`, endpoint, body: JSON.stringify(body) });
  });
}

async function submit({ account }: Rig, endpoint: string, bodies: readonly JsonObject[]): Promise<string> {
  const input = inputOf(linesOf(account, endpoint, bodies));
  const uploaded =
    input.bytes > account.capabilities.maxInlineBytes ? await account.upload?.(input, call()) : undefined;
  const firstBody = async (): Promise<string> => JSON.stringify(bodies[0]);
  const create: CreateInput = { ...name(endpoint), input: uploaded ?? input, firstBody };
  return (await account.create(create, call())).id;
}

async function resultsOf({ account, clock }: Rig, id: string, endpoint: string): Promise<ResultLine[]> {
  await clock.advance(HOUR);
  const batch = await account.retrieve(id, call());
  if (batch === null) return expect.fail("The batch is gone.");
  const lines: ResultLine[] = [];
  for await (const line of account.results(batch, call(), name(endpoint))) lines.push(line);
  return lines.sort((a, b) => (a.customId < b.customId ? -1 : 1));
}

const ask = (text: string): JsonObject => ({ model: "gemini-2.5-flash", messages: [{ role: "user", content: text }] });

describe("the client", () => {
  const named = (version: string) => {
    const headers = { "x-goog-api-client": `google-genai-sdk/${version} gl-node/v24.9.0` };
    const apiClient = { request() {}, clientOptions: { httpOptions: { headers } } };
    return { vertexai: false, files: { upload() {} }, apiClient };
  };

  test.each<readonly [string, object, string]>([
    [
      "of Vertex AI",
      new GoogleGenAI({ vertexai: true, project: "p", location: "global" }),
      "Expected `client` to be one of the Gemini API, got one of Vertex AI, which `vertexAccount` takes",
    ],
    [
      "without its transport",
      { vertexai: false, files: { upload() {} } },
      "Expected `client` to be a `GoogleGenAI` of @google/genai 2.15 or later, got an object without its `apiClient`",
    ],
    ["of version 2.14", named("2.14.0"), "got one of version 2.14.0, which may repeat calls that must go once"],
    ["of version 1", named("1.52.0"), "got one of version 1.52.0"],
    ["without files", { vertexai: false }, "Expected `client.files`"],
    ["that cannot upload", { vertexai: false, files: {} }, "got one without upload"],
  ])("%s is refused", (_case, client, message) => {
    const make = () => geminiAccount({ client: client as never });
    expect(make).toThrow(
      expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining(message) }),
    );
  });

  test.each(["2.15.0", "2.32.0", "3.1.0"])("of version %s fits", (version) => {
    expect(() => geminiAccount({ client: named(version) as never })).not.toThrow();
  });

  test("repeats no call, despite the client's option", async () => {
    const each = rig();
    each.fake.inject({ on: "gemini.create", accept: false, reply: { status: 503 }, times: 9 });
    await expect(submit(each, "/v1/chat/completions", [ask("a")])).rejects.toMatchObject({ status: 503 });
    expect(each.fake.calls("gemini.create")).toBe(1);
  });
});

test.each([-1, 0.5, 16_000_001, Number.POSITIVE_INFINITY])("maxInlineBytes may not be %d", (maxInlineBytes) => {
  expect(() => rig({ maxInlineBytes })).toThrow("Expected `maxInlineBytes` to be an integer from 0 to 16000000");
});

test("small input goes with the create, larger input in a file", async () => {
  const each = rig({ maxInlineBytes: 1_000 });
  for (const count of [2, 20]) {
    const bodies = Array.from({ length: count }, (_, n) => ask(`text ${n}`));
    const id = await submit(each, "/v1/chat/completions", bodies);
    const results = await resultsOf(each, id, "/v1/chat/completions");
    expect(results).toHaveLength(count);
    expect(results[0]?.response).toMatchObject({ statusCode: 200, body: { object: "chat.completion" } });
  }
  expect(each.fake.calls("geminiFiles.upload")).toBe(2);
  expect(each.fake.calls("geminiFiles.content")).toBe(1);
});

describe.each([0, 200_000])("with %d bytes inline", (maxInlineBytes) => {
  test("embeddings come back as OpenAI's, with the requested dimensions", async () => {
    const each = rig({ maxInlineBytes });
    const bodies = ["a", "b"].map((input) => ({ model: "gemini-embedding-001", input, dimensions: 8 }));
    const id = await submit(each, "/v1/embeddings", bodies);
    const results = await resultsOf(each, id, "/v1/embeddings");
    for (const { response, usage } of results) {
      const data = response?.body.data as { readonly embedding: readonly number[] }[];
      expect(data.map(({ embedding }) => embedding.length)).toEqual([8]);
      expect(usage?.inputTokens).toBeGreaterThan(0);
    }
    expect(results.map(({ customId }) => customId)).toEqual(["line_0", "line_1"]);
  });

  test("bodies of Gemini's own travel as they are, and so do their answers", async () => {
    const seen: JsonObject[] = [];
    const answer = ({ body }: { readonly body: JsonObject }) => {
      seen.push(body);
      return { status: 200, body: { candidates: [], own: true } };
    };
    const each = rig({ maxInlineBytes }, { answer });
    const body = {
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
      tools: [{ googleSearch: {} }],
      generationConfig: { temperature: 0 },
    };
    const id = await submit(each, "/v1beta/generateContent", [{ model: "models/gemini-2.5-flash", ...body }]);
    const [line] = await resultsOf(each, id, "/v1beta/generateContent");
    expect(line?.response).toEqual({ statusCode: 200, body: { candidates: [], own: true } });
    expect(seen).toContainEqual(body);
    const embed = { model: "e", content: { parts: [{ text: "Hi" }] }, taskType: "CLUSTERING" };
    await submit(each, "/v1beta/embedContent", [embed]);
    expect(each.fake.batches()).toHaveLength(2);
  });

  test("a request that Gemini finds wrong fails by itself", async () => {
    const each = rig({ maxInlineBytes });
    const good = { model: "gemini-2.5-flash", contents: [{ role: "user", parts: [{ text: "Hi" }] }] };
    const bad = { ...good, generationConfig: { temperature: 5 } };
    const id = await submit(each, "/v1beta/generateContent", [good, bad]);
    const results = await resultsOf(each, id, "/v1beta/generateContent");
    expect(results.map(({ response }) => response?.statusCode)).toEqual([200, 400]);
    expect(results[1]?.error).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("temperature"),
    });
  });

  test("cleaning up deletes the batch, its input and its output", async () => {
    const each = rig({ maxInlineBytes, cleanup: true });
    const { account, fake } = each;
    const id = await submit(each, "/v1/chat/completions", [ask("a")]);
    await resultsOf(each, id, "/v1/chat/completions");
    const files: string[] = [];
    for await (const { fileId, fileName } of account.listFiles?.(call()) ?? []) {
      expect(fileName).toBe(`${KEY}-1.jsonl`);
      files.push(fileId);
    }
    const [fileId = null] = files;
    const input = { ...name("/v1/chat/completions"), providerBatchId: id, fileId };
    await account.cleanup?.(input, call());
    expect(await account.retrieve(id, call())).toBeNull();
    expect(fake.calls("geminiFiles.delete")).toBe(maxInlineBytes === 0 ? 2 : 0);
    // Once more, as another process would after a crash.
    await account.cleanup?.(input, call());
    expect(rig().account.cleanup).toBeUndefined();
  });
});

test.each<readonly [string, string, JsonObject, string]>([
  ["another endpoint", "/v1/moderations", { model: "m", input: "x" }, 'the endpoint "/v1/moderations"'],
  ["no model", "/v1/chat/completions", { messages: [] }, "`model` must be the name of a model, not nothing"],
  ["a model that is a path", "/v1beta/generateContent", { model: "a/../b", contents: [] }, "`model`"],
])("a body with %s is refused", (_case, endpoint, body, words) => {
  const check = () => rig().account.checkBody(endpoint, body);
  expect(check).toThrow(expect.objectContaining({ code: "INVALID_REQUEST", message: expect.stringContaining(words) }));
});

test("files are listed by pages, and deleting one that is gone is no error", async () => {
  const { account } = rig();
  const uploads: string[] = [];
  for (let n = 0; n < 101; n += 1) uploads.push((await account.upload?.(inputOf(["{}\n"]), call()))?.fileId ?? "");
  const listed: string[] = [];
  for await (const { fileId } of account.listFiles?.(call()) ?? []) listed.push(fileId);
  expect(listed.toSorted()).toEqual(uploads.toSorted());
  for (const _time of [1, 2]) await account.deleteFile?.(uploads[0] as string, call());
});

test("an upload that is given up rejects at once", async () => {
  const { account, fake } = rig();
  fake.inject({ on: "geminiFiles.upload", delayMs: HOUR });
  const giveUp = new AbortController();
  const upload = account.upload?.(inputOf(["{}\n"]), { ...call(), signal: giveUp.signal });
  giveUp.abort(new Error("The lease is lost."));
  await expect(upload).rejects.toThrow("The lease is lost.");
});
