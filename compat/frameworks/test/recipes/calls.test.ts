// The recipes that call a service or other threads: official clients over loopback HTTP, real
// Redis, real workers.

import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { createOpenAI } from "@ai-sdk/openai";
import type { EmbeddingModelV4 } from "@ai-sdk/provider";
import { Embeddings } from "@langchain/core/embeddings";
import { embed, embedMany } from "ai";
import { type RateLimiter, rateLimiter } from "batchwise";
import { redisRateLimiter } from "batchwise/limits/redis";
import { Redis } from "ioredis";
import OpenAI from "openai";
import { describe, expect, onTestFinished, test } from "vitest";
import { redisPlace } from "../../../../packages/batchwise/test/integration/services/kept.ts";
import { importRecipe } from "./import-recipe.ts";

interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body: unknown;
}

/** A service on loopback; its answers come from the parsed body of each request. Its address. */
async function service(answer: (body: never, request: IncomingMessage) => Answer): Promise<string> {
  const server = createServer(async (request, response) => {
    const { status = 200, headers, body } = answer((await json(request)) as never, request);
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A stand-in for the embeddings of OpenAI: a text's vector is its length; "bad" is refused. */
async function embeddingService(): Promise<{ url: string; inputs: string[][] }> {
  const inputs: string[][] = [];
  const url = await service(({ input, encoding_format }: { input: string[]; encoding_format?: string }) => {
    inputs.push(input);
    if (input.includes("bad")) return { status: 400, body: { error: { message: "The input is too long." } } };
    const vector = ({ length }: string) =>
      encoding_format === "base64" ? Buffer.from(Float32Array.of(length).buffer).toString("base64") : [length];
    const data = input.map((text, index) => ({ object: "embedding", index, embedding: vector(text) }));
    return { body: { object: "list", model: "m", data, usage: { prompt_tokens: 1, total_tokens: 1 } } };
  });
  return { url, inputs };
}

describe("the recipe for the Vercel AI SDK", () => {
  async function shared(): Promise<{ model: EmbeddingModelV4; inputs: string[][] }> {
    const { url, inputs } = await embeddingService();
    const inner = createOpenAI({ baseURL: url, apiKey: "none" }).embedding("text-embedding-3-small");
    type Recipe = { sharedCalls(model: EmbeddingModelV4): EmbeddingModelV4 };
    const { sharedCalls } = await importRecipe<Recipe>("The Vercel AI SDK");
    return { model: sharedCalls(inner), inputs };
  }

  test("sends the texts of several callers of embed and embedMany in one request", async () => {
    const { model, inputs } = await shared();
    const [one, many, more] = await Promise.all([
      embed({ model, value: "a" }),
      embedMany({ model, values: ["bb", "ccc"] }),
      embedMany({ model, values: ["dddd"] }),
    ]);
    expect([one.embedding, many.embeddings, more.embeddings]).toEqual([[1], [[2], [3]], [[4]]]);
    expect(inputs.map((input) => input.toSorted())).toEqual([["a", "bb", "ccc", "dddd"]]);
  });

  test("passes the service's refusal to all callers, and an abort only to its own caller", async () => {
    const { model } = await shared();
    const refused = embed({ model, value: "bad" }).catch((error: unknown) => error);
    expect(await refused).toMatchObject({ statusCode: 400 });
    const gone = AbortSignal.abort();
    const aborted = embed({ model, value: "gone", abortSignal: gone }).catch(({ name }: Error) => name);
    expect([await aborted, (await embed({ model, value: "here" })).embedding]).toEqual(["AbortError", [4]]);
  });
});

describe("the recipe for LangChain.js", () => {
  type Recipe = { SharedEmbeddings: new (client: OpenAI) => Embeddings };

  test("sends the texts of all callers in one request, and finds the text that is refused", async () => {
    const { url, inputs } = await embeddingService();
    const { SharedEmbeddings } = await importRecipe<Recipe>("LangChain.js");
    const embeddings = new SharedEmbeddings(new OpenAI({ baseURL: url, apiKey: "none", maxRetries: 0 }));
    expect(embeddings).toBeInstanceOf(Embeddings);
    const both = await Promise.all([embeddings.embedQuery("a"), embeddings.embedDocuments(["bb", "ccc"])]);
    expect(both).toEqual([[1], [[2], [3]]]);
    expect(inputs.map((input) => input.toSorted())).toEqual([["a", "bb", "ccc"]]);
    const settled = await Promise.allSettled(["bad", "dddd"].map((text) => embeddings.embedQuery(text)));
    expect(settled).toMatchObject([{ status: "rejected", reason: { status: 400 } }, { value: [4] }]);
  });
});

describe("the recipe for a rate-limited API", () => {
  type Recipe = { translator(url: string, limiter: RateLimiter): (text: string) => Promise<string> };

  test("keeps two batchers that share a key in Redis to one limit, and their calls full", async () => {
    const calls: string[][] = [];
    const url = await service((texts: string[]) => {
      calls.push(texts);
      return { body: texts.map((text) => text.toUpperCase()) };
    });
    const { port, prefix } = await redisPlace();
    const client = new Redis({ port, host: "127.0.0.1" });
    onTestFinished(() => client.disconnect());
    const limiter = () => redisRateLimiter({ client, key: `${prefix}api`, callsPerMinute: 600, burstMs: 200 });
    const { translator } = await importRecipe<Recipe>("A rate-limited API");
    const translators = [translator(url, limiter()), translator(url, limiter())];
    const started = performance.now();
    const texts = Array.from({ length: 800 }, (_, n) => `text ${n}`);
    const translated = await Promise.all(texts.map((text, n) => translators[n % 2]?.(text)));
    expect(translated).toEqual(texts.map((text) => text.toUpperCase()));
    const allowed = 2 + (performance.now() - started) / 100;
    expect(calls.length).toBeLessThanOrEqual(allowed);
    expect(calls.length).toBeLessThan(20);
  });

  test("waits as the service's Retry-After says, and does not repeat refused calls", async () => {
    const times: number[] = [];
    const url = await service((texts: string[]) => {
      times.push(performance.now());
      if (texts.includes("bad")) return { status: 400, body: "no such language" };
      return times.length === 1 ? { status: 429, headers: { "retry-after": "2" }, body: "" } : { body: texts };
    });
    const { translator } = await importRecipe<Recipe>("A rate-limited API");
    const translate = translator(url, rateLimiter({ callsPerMinute: 60_000 }));
    expect(await translate("a")).toBe("a");
    const [first = 0, second = 0] = times;
    expect(second - first).toBeGreaterThan(1_950);
    await expect(translate("bad")).rejects.toThrow("HTTP 400");
    expect(times.length).toBe(3);
  });
});

describe("the recipe for a CPU-heavy handler", () => {
  test("hashes in threads while the event loop continues", async () => {
    type Recipe = {
      hash: ((password: { text: string; salt: string }) => Promise<string>) & { close(): Promise<void> };
    };
    const { hash } = await importRecipe<Recipe>("A CPU-heavy handler");
    onTestFinished(() => hash.close());
    let ticks = 0;
    const timer = setInterval(() => ticks++, 1);
    const hashes = await Promise.all(["a", "b", "a"].map((text) => hash({ text, salt: "salt" })));
    clearInterval(timer);
    expect(hashes.map((text) => text.length)).toEqual([64, 64, 64]);
    expect([hashes[0] === hashes[2], hashes[0] === hashes[1]]).toEqual([true, false]);
    expect(ticks).toBeGreaterThan(3);
  });
});

describe("the recipe for durable jobs", () => {
  test("sends the jobs that a worker holds in one call, each with its own outcome", async () => {
    type Send = (mails: string[]) => Promise<string[]>;
    type Recipe = { processorOf(send: Send): (job: { data: string }) => Promise<string> };
    const calls: string[][] = [];
    const { processorOf } = await importRecipe<Recipe>("Durable jobs from a queue");
    const run = processorOf(async (mails) => {
      calls.push(mails);
      return mails.map((mail) => (mail === "bad" ? (new Error("no such mailbox") as never) : `sent ${mail}`));
    });
    const outcomes = await Promise.allSettled(["a", "bad", "b"].map((data) => run({ data })));
    expect(outcomes).toMatchObject([
      { value: "sent a" },
      { reason: { message: "no such mailbox" } },
      { value: "sent b" },
    ]);
    expect(calls).toEqual([["a", "bad", "b"]]);
  });
});

describe("the recipe for a million rows", () => {
  test("stores a vector of each row, counts those that fail, and reads no further ahead than a few batches", async () => {
    type Embed = (texts: string[]) => Promise<number[][]>;
    type Rows = AsyncIterable<{ id: number; text: string }>;
    type Store = (id: number, vector: number[]) => Promise<void>;
    type Recipe = { embedRows(embed: Embed, rows: Rows, store: Store): Promise<number> };
    const { embedRows } = await importRecipe<Recipe>("A million rows");
    const { url } = await embeddingService();
    const client = new OpenAI({ apiKey: "none", baseURL: url, maxRetries: 0 });
    let taken = 0;
    let furthest = 0;
    const stored = new Map<number, number[]>();
    const rows = async function* (): Rows {
      for (let id = 0; id < 5_000; id += 1) {
        taken += 1;
        furthest = Math.max(furthest, taken - stored.size);
        yield { id, text: id === 3_000 ? "bad" : "x".repeat(1 + (id % 7)) };
      }
    };
    const embedAll: Embed = async (input) => {
      const { data } = await client.embeddings.create({ model: "m", input });
      return data.map(({ embedding }) => embedding);
    };
    const failed = await embedRows(embedAll, rows(), async (id, vector) => void stored.set(id, vector));
    expect(failed).toBe(1);
    expect(stored.size).toBe(4_999);
    expect([...stored].every(([id, vector]) => vector[0] === 1 + (id % 7))).toBe(true);
    expect(furthest).toBeLessThanOrEqual(2 * 256 * 4 + 2);
  });
});
