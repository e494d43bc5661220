import { type OpenAiClient, type OpenAiServiceName, openaiAccount, openaiServices } from "batchwise/dispatch/openai";
import { type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type {
  Account,
  BatchName,
  CallOptions,
  ProviderBatch,
  ResultLine,
} from "../../../../src/dispatch/contract/account.ts";
import { customId } from "../../../../src/dispatch/format/encode.ts";
import { inputOf } from "../account-suite.ts";

const HOUR = 3_600_000;
const KEY = "01JD3K9V7QX2ABCDEFGHJKMNPQ";
const endpoint = "/v1/chat/completions";

interface Rig {
  readonly account: Account;
  readonly fake: FakeProvider;
  readonly clock: VirtualClock;
}

function rig(service: OpenAiServiceName): Rig {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const fake = fakeProvider({ clock, dialect: service });
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  return { account: openaiAccount({ client, service }), fake, clock };
}

function call(): CallOptions {
  return { signal: new AbortController().signal, timeoutMs: 10_000 };
}

const NAME: BatchName = { key: KEY, attempt: 1, endpoint, model: "m" };

async function submit(account: Account): Promise<{ readonly fileId: string; readonly batch: ProviderBatch }> {
  const body = '{"model":"m","messages":[{"role":"user","content":"Hi"}]}';
  const lines = [0, 1].map((ord) => account.encodeLine({ customId: customId(KEY, ord), endpoint, body }));
  const uploaded = await account.upload?.(inputOf(lines), call());
  if (uploaded === undefined) throw new Error("Expected an upload.");
  const batch = await account.create({ ...NAME, input: uploaded, firstBody: async () => body }, call());
  return { fileId: uploaded.fileId, batch };
}

const SERVICES = Object.keys(openaiServices) as OpenAiServiceName[];

test.each(SERVICES)("the fake takes batches for each text endpoint of the record: %s", async (service) => {
  const { account } = rig(service);
  const bodies: Readonly<Record<string, string>> = {
    "/v1/embeddings": '{"model":"m","input":"Hi"}',
    "/v1/completions": '{"model":"m","prompt":"Hi"}',
  };
  for (const each of account.capabilities.endpoints) {
    const body = bodies[each];
    if (body === undefined) continue;
    const line = account.encodeLine({ customId: customId(KEY, 0), endpoint: each, body });
    const input = (await account.upload?.(inputOf([line]), call())) ?? { fileId: "" };
    const asked = { ...NAME, endpoint: each, input, firstBody: async () => body };
    expect(await account.create(asked, call())).toMatchObject({ state: "validating" });
  }
});

test.each([
  ["groq", "7d", 168],
  ["doubleword", "1h", 1],
  ["dashscope", "14d", 336],
  ["dashscope", "336h", 336],
] as const)(
  "%s takes a window of %s, and the account knows how long it is",
  async (service, completionWindow, hours) => {
    const fake = fakeProvider({ clock: virtualClock(Date.UTC(2026, 0, 1)), dialect: service });
    const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
    const account = openaiAccount({ client, service, completionWindow });
    const { batch } = await submit(account);
    expect(batch.expiresAt).toBe(Date.UTC(2026, 0, 1) + hours * HOUR);
    expect(account.capabilities.completionWindowMs).toBe(hours * HOUR);
  },
);

test.each([
  ["openai", "1h"],
  ["doubleword", "48h"],
  ["dashscope", "15d"],
  ["siliconflow", "2d"],
] as const)("%s takes no window of %s", (service, completionWindow) => {
  const client = new OpenAI({ apiKey: "key" });
  expect(() => openaiAccount({ client, service, completionWindow })).toThrow(
    expect.objectContaining({ code: "INVALID_OPTION" }),
  );
});

describe.each(SERVICES)("a service of OpenAI's shape: %s", (service) => {
  test("runs a batch from upload to results", async () => {
    const { account, clock } = rig(service);
    const { batch } = await submit(account);
    expect(batch).toMatchObject({ state: "validating", resultRefs: [] });
    await clock.advance(HOUR);
    const done = await account.retrieve(batch.id, call());
    expect(done).toMatchObject({ state: "done", total: 2, settled: 2 });
    const lines: ResultLine[] = [];
    for await (const line of account.results(done as ProviderBatch, call(), NAME)) lines.push(line);
    expect(lines.map(({ response }) => response?.statusCode)).toEqual([200, 200]);
  });

  test("finds the batch again by its tag, or by the file where there is no tag", async () => {
    const { account } = rig(service);
    const { fileId } = await submit(account);
    const { batches, next } = await account.list({ cursor: null, limit: 100 }, call());
    expect(next).toBeNull();
    expect(batches).toHaveLength(1);
    expect(batches[0]?.inputFileId).toBe(fileId);
    expect(batches[0]?.tag).toEqual(service === "together" ? null : { key: KEY, attempt: 1 });
    expect(account.capabilities.tag).toBe(service === "together" ? "inputFile" : "metadata");
  });

  test("lists uploads by name and deletes them, also twice", async () => {
    const { account } = rig(service);
    const { fileId } = await submit(account);
    const list = async (): Promise<unknown[]> => {
      const files: unknown[] = [];
      for await (const file of account.listFiles?.(call()) ?? []) files.push(file);
      return files;
    };
    expect(await list()).toEqual([{ fileId, fileName: `${KEY}-1.jsonl` }]);
    await account.deleteFile?.(fileId, call());
    await account.deleteFile?.(fileId, call());
    expect(await list()).toEqual([]);
  });
});

test("a batch over the enqueued tokens fails later, and names the limit", async () => {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const fake = fakeProvider({ clock, limits: { enqueuedTokens: 3 } });
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
  const account = openaiAccount({ client });
  const { batch } = await submit(account);
  await clock.advance(HOUR);
  expect((await account.retrieve(batch.id, call()))?.failure).toMatchObject({ kind: "tokenLimit", limitTokens: 3 });
});

test("uploads are listed over all pages", async () => {
  const asked: unknown[] = [];
  const pages = [
    { data: [{ id: "file-1", filename: "a.jsonl" }, { id: "file-2" }], has_more: true },
    { data: [{ id: "file-3", filename: "c.jsonl" }], has_more: false },
  ];
  const list = async (query: object): Promise<unknown> => {
    asked.push(query);
    return pages[asked.length - 1];
  };
  const { files, batches } = new OpenAI({ apiKey: "key" });
  const client: OpenAiClient = {
    files: { create: files.create, content: files.content, delete: files.delete, list },
    batches,
  };
  const account = openaiAccount({ client });
  const seen: string[] = [];
  for await (const { fileName } of account.listFiles?.(call()) ?? []) seen.push(fileName);
  expect(seen).toEqual(["a.jsonl", "c.jsonl"]);
  expect(asked).toEqual([
    { purpose: "batch", limit: 1_000 },
    { purpose: "batch", limit: 1_000, after: "file-2" },
  ]);
});
