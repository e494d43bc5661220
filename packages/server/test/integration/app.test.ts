import type { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createApp } from "../../src/http/app.ts";
import { Embedder } from "../../src/models/embedder.ts";
import { marked, smallEncoder } from "../support/small-encoder.ts";
import { maxDifference } from "../support/vectors.ts";

interface Answer {
  readonly data: readonly { readonly index: number; readonly embedding: number[] }[];
  readonly model: string;
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number };
}

let embedder: Embedder;
let app: Hono;
let draining = false;

beforeAll(async () => {
  embedder = await Embedder.open(await smallEncoder());
  app = createApp({ embedder, maxBodyBytes: 100_000, draining: () => draining });
});
afterAll(() => embedder.close());

function post(body: unknown, others: Record<string, string> = {}): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const headers = { "content-type": "application/json", ...others };
  return Promise.resolve(app.request("/v1/embeddings", { method: "POST", body: text, headers }));
}

async function answer(body: Record<string, unknown>): Promise<Answer> {
  const response = await post({ model: "batchwise-demo", ...body });
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

async function refusal(response: Response | Promise<Response>, status: number, code: string): Promise<string> {
  const settled = await response;
  const body = (await settled.json()) as { error: Record<string, unknown> };
  expect({ status: settled.status, code: body.error.code }).toEqual({ status, code });
  expect(Object.keys(body.error).toSorted()).toEqual(["code", "message", "param", "type"]);
  expect(settled.headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
  return String(body.error.message);
}

describe("POST /v1/embeddings", () => {
  test("answers in OpenAI's shape with its usage", async () => {
    const { data, model, usage } = await answer({ input: ["grey rain", "piano"] });
    expect(model).toBe("batchwise-demo");
    expect(data.map(({ index }) => index)).toEqual([0, 1]);
    expect(data.map(({ embedding }) => embedding.length)).toEqual([32, 32]);
    // Two words and one, each text with its two marks.
    expect(usage).toEqual({ prompt_tokens: 7, total_tokens: 7 });
  });

  test("gives tokens the vector of the text that they came from", async () => {
    const [counted] = await embedder.tokenize(["grey rain"]);
    const text = await answer({ input: "grey rain" });
    const tokens = await answer({ input: counted?.ids });
    const nested = await answer({ input: ["piano", counted?.ids] });
    expect(maxDifference(tokens.data[0]?.embedding ?? [], text.data[0]?.embedding ?? [])).toBeLessThan(1e-5);
    expect(maxDifference(nested.data[1]?.embedding ?? [], text.data[0]?.embedding ?? [])).toBeLessThan(1e-5);
  });

  test("gives base64 the same numbers", async () => {
    const numbers = await answer({ input: "grey rain" });
    const packed = await answer({ input: "grey rain", encoding_format: "base64" });
    const bytes = Buffer.from(String(packed.data[0]?.embedding), "base64");
    const unpacked = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
    expect(maxDifference(unpacked, numbers.data[0]?.embedding ?? [])).toBe(0);
  });

  test("cuts to the requested dimensions, at length 1 again", async () => {
    const all = (await answer({ input: "grey rain" })).data[0]?.embedding ?? [];
    const head = (await answer({ input: "grey rain", dimensions: 8 })).data[0]?.embedding ?? [];
    expect(head).toHaveLength(8);
    expect(Math.hypot(...head)).toBeCloseTo(1, 5);
    expect((head[0] ?? 0) / (head[1] ?? 0)).toBeCloseTo((all[0] ?? 0) / (all[1] ?? 0), 3);
  });

  test("refuses a body that is not JSON, or no object", async () => {
    expect(await refusal(post('{"input": "a"'), 400, "invalid_json")).toContain("not JSON");
    await refusal(post(""), 400, "invalid_json");
    await refusal(post("[1]"), 400, "invalid_json");
    await refusal(post("null"), 400, "invalid_json");
  });

  test("refuses a text over the model's limit and names both numbers", async () => {
    const message = await refusal(
      post({ model: "batchwise-demo", input: ["fits", "word ".repeat(100)] }),
      400,
      "context_length_exceeded",
    );
    expect(message).toContain("at most 64 tokens");
    expect(message).toContain("`input[1]` has 102 tokens");
    const tokens = marked(Array.from({ length: 63 }, () => 5));
    await refusal(post({ model: "batchwise-demo", input: tokens }), 400, "context_length_exceeded");
  });

  test("takes a text of exactly the limit", async () => {
    expect((await answer({ input: "word ".repeat(62) })).usage.prompt_tokens).toBe(64);
  });

  test("refuses a body that says it is too large without reading it", async () => {
    const message = await refusal(post("{}", { "content-length": "100001" }), 413, "request_too_large");
    expect(message).toContain("100000 bytes");
    expect(message).toContain("100001");
  });

  test("refuses a body that turns out too large, having read little more than the limit", async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 10_000;
        controller.enqueue(new Uint8Array(10_000).fill(32));
      },
    });
    const request = new Request("http://localhost/v1/embeddings", { method: "POST", body: endless, duplex: "half" });
    await refusal(app.request(request), 413, "request_too_large");
    expect(sent).toBeLessThan(200_000);
  });
});

describe("the other routes", () => {
  test("list and describe the one model", async () => {
    const list = (await (await app.request("/v1/models")).json()) as { data: Record<string, unknown>[] };
    expect(list.data).toHaveLength(1);
    expect(list.data[0]).toMatchObject({
      id: "batchwise-demo",
      object: "model",
      owned_by: "batchwise",
      dimensions: 32,
    });
    expect(await (await app.request("/v1/models/batchwise-demo")).json()).toEqual(list.data[0]);
    await refusal(app.request("/v1/models/org/other"), 404, "model_not_found");
  });

  test("are refused by name when there are none, or not with that method", async () => {
    expect(await refusal(app.request("/v1/nothing"), 404, "unknown_url")).toContain("GET /v1/nothing");
    const response = await app.request("/v1/embeddings");
    expect(response.headers.get("allow")).toBe("POST");
    await refusal(response, 405, "method_not_allowed");
    await refusal(app.request("/v1/models", { method: "DELETE" }), 405, "method_not_allowed");
    await refusal(app.request("/v1/models/batchwise-demo", { method: "DELETE" }), 405, "method_not_allowed");
    for (const method of ["GET", "DELETE"]) {
      await refusal(app.request("/v1/models/", { method }), 404, "unknown_url");
    }
  });

  test.each([
    ["POST", "/embeddings", "/v1/embeddings"],
    ["POST", "/v1/v1/embeddings", "/v1/embeddings"],
    ["POST", "/openai/v1/embeddings/", "/v1/embeddings"],
    ["GET", "/models", "/v1/models"],
    ["GET", "/models/batchwise-demo", "/v1/models/batchwise-demo"],
    ["GET", "/v1/healthz", "/healthz"],
  ])("%s %s is answered with the path that was meant", async (method, path, meant) => {
    const message = await refusal(app.request(path, { method }), 404, "unknown_url");
    expect(message).toBe(`Unknown request URL: ${method} ${path}. Did you mean ${meant}?`);
  });

  test("show live batching as JSON to programs and as a page to browsers", async () => {
    const before = (await (await app.request("/stats")).json()) as { stats: { completed: number } };
    await answer({ input: ["one", "two", "three"] });
    const response = await app.request("/stats", { headers: { accept: "*/*" } });
    expect(response.headers.get("cache-control")).toBe("no-store");
    const after = (await response.json()) as Record<string, Record<string, unknown>>;
    expect(after.stats?.completed).toBe(before.stats.completed + 3);
    expect(after.perSecond?.texts).toBeGreaterThan(0);
    expect(after.options).toMatchObject({ maxBatchSize: 1024, maxBatchCost: "learn", concurrency: 1 });
    expect(after.stats).toMatchObject({
      learned: { maxBatchCost: expect.any(Number), state: expect.stringMatching(/^(re)?learn(ing|ed)$/) },
    });
    expect(after.running).toEqual([]);
    const page = await app.request("/stats", { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } });
    expect(page.headers.get("content-type")).toContain("text/html");
    expect(await page.text()).not.toMatch(/(src|href)="(https?:)?\/\//);
  });

  test("lead from the root to the live page", async () => {
    const response = await app.request("/");
    expect([response.status, response.headers.get("location")]).toEqual([302, "/stats"]);
  });

  test("report that the service lives and is ready, until it drains", async () => {
    expect((await app.request("/healthz")).status).toBe(200);
    expect((await app.request("/readyz")).status).toBe(200);
    draining = true;
    try {
      expect((await app.request("/healthz")).status).toBe(503);
      expect((await app.request("/readyz")).status).toBe(503);
      const response = await post({ model: "batchwise-demo", input: "late" });
      expect(response.headers.get("connection")).toBe("close");
      await refusal(response, 503, "shutting_down");
    } finally {
      draining = false;
    }
  });
});
