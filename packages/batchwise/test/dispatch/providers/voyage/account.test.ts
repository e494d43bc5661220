// Voyage's batches through the official OpenAI client, at the fake in Voyage's dialect.

import { createDispatcher, type Endpoint, type JsonObject, memoryStore } from "batchwise/dispatch";
import { fakeProvider } from "batchwise/dispatch/testing";
import { voyageAccount } from "batchwise/dispatch/voyage";
import { virtualClock } from "batchwise/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { isAtRest } from "../../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const model = "voyage-3.5";
const baseURL = "https://api.voyageai.com/v1";

interface Asked {
  readonly id: string;
  readonly endpoint?: Endpoint;
  readonly body: JsonObject;
}

/** All requests through a dispatcher; the creates and the lines that the provider got. */
async function run(requests: readonly Asked[], filesPendingMs = 0) {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const fake = fakeProvider({ clock, dialect: "voyage", filesPendingMs });
  const creates: JsonObject[] = [];
  const files: string[] = [];
  const watch: typeof fetch = async (input, init) => {
    const request = new Request(input as Request, init);
    const text = await request.clone().text();
    if (request.method === "POST" && request.url.endsWith("/batches")) creates.push(JSON.parse(text));
    if (request.method === "POST" && request.url.endsWith("/files")) files.push(text);
    return fake.fetch(request);
  };
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: watch });
  const store = memoryStore();
  const accounts = [voyageAccount({ client })];
  const dispatcher = createDispatcher({ store, clock, accounts, thresholds: { maxAgeMs: MINUTE }, onError: () => {} });
  await dispatcher.start();
  await dispatcher.enqueueMany(requests);
  for (let n = 0; n < 500 && !(await isAtRest(store, clock.now())); n += 1) await clock.advance(30_000);
  const rows = await store.outcomes({ after: 0, limit: 100 });
  await dispatcher.stop();
  const outcomes = new Map(rows.map(({ id, status, payload }) => [id, { status, ...JSON.parse(payload) }]));
  return { outcomes, creates, files, fake };
}

test("embeddings share a batch where they agree in model and parameters, which the create says once", async () => {
  const { outcomes, creates, files } = await run([
    { id: "a", body: { model, input: ["one", "two"], input_type: "document", output_dimension: 256 } },
    { id: "b", body: { model, output_dimension: 256, input_type: "document", input: ["three", "four"] } },
    { id: "c", body: { model, input: "one", input_type: "query" } },
    { id: "d", body: { model, input: "four" } },
  ]);
  expect([...outcomes.values()].map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => "succeeded"));
  expect(outcomes.get("a")?.response.body.data).toHaveLength(2);
  expect(creates.map(({ request_params: params }) => params)).toHaveLength(3);
  expect(creates).toContainEqual(
    expect.objectContaining({
      endpoint: "/v1/embeddings",
      completion_window: "12h",
      request_params: { model, input_type: "document", output_dimension: 256 },
    }),
  );
  const lines = files.flatMap((text) => text.split(/\r?\n/).filter((line) => line.startsWith("{")));
  expect(lines.map((line) => Object.keys(JSON.parse(line)))).toEqual(lines.map(() => ["custom_id", "body"]));
  expect(lines.map((line) => JSON.parse(line).body)).toContainEqual({ input: ["one", "two"] });
});

test("parameters agree whatever the order of their keys, at any depth", () => {
  const account = voyageAccount({ client: new OpenAI({ apiKey: "key", baseURL }) });
  const group = (more: JsonObject): string | null | undefined =>
    account.groupOf?.("/v1/embeddings", { model, input: "a", ...more });
  const one = { output_dtype: "int8", extra: { a: 1, b: [{ c: 2, d: 3 }] } };
  expect(group({ extra: { b: [{ d: 3, c: 2 }], a: 1 }, output_dtype: "int8" })).toBe(group(one));
  expect(group({ ...one, extra: { a: 1, b: [{ c: 3, d: 2 }] } })).not.toBe(group(one));
  expect(group({})).toBeNull();
});

test("rerankers and contextualized embeddings answer in Voyage's shape, with the tokens that it counts", async () => {
  const { outcomes } = await run([
    {
      id: "rank",
      endpoint: "/v1/rerank",
      body: { model: "rerank-2.5", query: "four", documents: ["a", "five", "six six"], top_k: 2 },
    },
    {
      id: "chunks",
      endpoint: "/v1/contextualizedembeddings",
      body: { model: "voyage-context-3", inputs: [["one", "two"], ["three"]], input_type: "document" },
    },
  ]);
  const { rank, chunks } = Object.fromEntries(outcomes);
  expect(rank.response.body.data[0]).toEqual({ relevance_score: 1, index: 1 });
  expect(rank.usage.inputTokens).toBeGreaterThan(0);
  expect(chunks.response.body.data.map(({ data }: { data: unknown[] }) => data.length)).toEqual([2, 1]);
  expect(chunks.usage).toMatchObject({ outputTokens: 0, totalTokens: chunks.usage.inputTokens });
});

test("a create that is refused right after the upload is made again with the same file", async () => {
  const { outcomes, files, fake } = await run([{ id: "a", body: { model, input: "one" } }], 40_000);
  expect(outcomes.get("a")?.status).toBe("succeeded");
  expect(files).toHaveLength(1);
  expect(fake.calls("batches.create")).toBe(1);
});

describe("the account", () => {
  const client = new OpenAI({ apiKey: "key", baseURL });
  const account = voyageAccount({ client });

  test.each([
    ["/v1/embeddings", { model, input: Array.from({ length: 1_001 }, () => "a") }, "1000 inputs"],
    ["/v1/rerank", { model, documents: ["a"] }, "query"],
    ["/v1/rerank", { model, query: "a", documents: [] }, "documents"],
    ["/v1/contextualizedembeddings", { model, inputs: "a" }, "inputs"],
    ["/v1/chat/completions", { model, messages: [] }, "not served"],
  ] as const)("refuses a body that %s does not take", (endpoint, body, words) => {
    expect(() => account.checkBody(endpoint, body as never)).toThrow(
      expect.objectContaining({ code: "INVALID_REQUEST", message: expect.stringContaining(words) }),
    );
  });

  test("knows its window, and takes no option for it", () => {
    expect(account.capabilities.completionWindowMs).toBe(12 * HOUR);
    expect(account.name).toBe("voyage");
    for (const option of [{ completionWindow: "24h" }, { service: "groq" }, { createExtras: { request_params: {} } }]) {
      expect(() => voyageAccount({ client, ...option } as never)).toThrow(
        expect.objectContaining({ code: "INVALID_OPTION" }),
      );
    }
  });

  test("refuses OpenAI's client without Voyage's address", () => {
    expect(() => voyageAccount({ client: new OpenAI({ apiKey: "key" }) })).toThrow("got one of api.openai.com");
  });

  test("measures a line as it is sent", () => {
    const body = JSON.stringify({ model, input: "\u00e4\u20ac", input_type: "query" });
    const request = { customId: "0".repeat(20), endpoint: "/v1/embeddings", body };
    const bytes = Buffer.byteLength(account.encodeLine(request));
    expect(account.lineBytes?.(request, Buffer.byteLength(body))).toBe(bytes);
  });
});
