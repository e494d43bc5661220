import { createConnection } from "node:net";
import OpenAI from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { type Service, type ServiceOptions, startService } from "../../src/http/service.ts";
import { BUILT_IN_MODEL_NAME as model } from "../../src/models/model-source.ts";
import { temporaryFolder } from "../support/folders.ts";
import { slowEncoder, smallEncoder } from "../support/small-encoder.ts";
import { cosine, maxDifference } from "../support/vectors.ts";

const services: Service[] = [];

afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()));
});

async function start(options: Partial<ServiceOptions> = {}): Promise<Service> {
  const service = await startService({ modelDirectory: await temporaryFolder(), port: 0, ...options });
  services.push(service);
  return service;
}

const clientOf = (service: Service): OpenAI =>
  new OpenAI({ baseURL: `${service.url}/v1`, apiKey: "any", maxRetries: 0 });

const WORDS = "grey rain piano harvest barley river window letter copper engine lantern meadow".split(" ");

/** Texts of 1 to 24 words, all different. */
const textOf = (index: number): string =>
  Array.from({ length: 1 + ((index * 7) % 24) }, (_, place) => WORDS[(index * 5 + place * 3) % 12]).join(" ") +
  ` ${index}`;

describe("the official client", () => {
  test("gets each of 200 concurrent requests the vectors of its own texts, in large batches", async () => {
    const service = await start({ workers: 1 });
    const client = clientOf(service);
    const alone: number[][] = [];
    for (let index = 0; index < 200; index += 1) {
      const { data } = await client.embeddings.create({ model, input: textOf(index) });
      alone.push(data[0]?.embedding ?? []);
    }
    const { batcher } = service.embedder;
    const before = batcher.stats();
    expect(before.batches).toBe(200);
    batcher.configure({ maxBatchSize: 16, maxBatchCost: 512, maxWaitMs: 2_000 });
    const answers = await Promise.all(
      alone.map((_, index) => {
        const input = index % 5 === 0 ? [textOf(index), textOf((index + 1) % 200), textOf(index)] : textOf(index);
        // The client requests base64 by itself; every other call requests numbers.
        return client.embeddings.create({ model, input, ...(index % 2 === 0 ? {} : { encoding_format: "float" }) });
      }),
    );
    for (const [index, { data, usage }] of answers.entries()) {
      const expected = index % 5 === 0 ? [index, (index + 1) % 200, index] : [index];
      expect(data.map((entry) => entry.index)).toEqual(expected.map((_, place) => place));
      for (const [place, text] of expected.entries()) {
        expect(maxDifference(data[place]?.embedding ?? [], alone[text] ?? [])).toBeLessThan(1e-4);
      }
      expect(usage.total_tokens).toBeGreaterThan(2);
    }
    // Any two texts differ by far more, so a vector in the wrong place would show.
    expect(maxDifference(alone[0] ?? [], alone[1] ?? [])).toBeGreaterThan(1e-2);
    const after = batcher.stats();
    expect(after.completed - before.completed).toBe(280);
    expect(280 / (after.batches - before.batches)).toBeGreaterThan(3);
  });

  test("shares batches with other connections without any waiting time, while the model is busy", async () => {
    const service = await start({ ...(await slowEncoder()), maxBatchTokens: 512 });
    const client = clientOf(service);
    await Promise.all(
      Array.from({ length: 60 }, (_, index) => client.embeddings.create({ model, input: textOf(index) })),
    );
    expect(service.embedder.batcher.stats().averageBatchSize).toBeGreaterThan(4);
  });

  test("finds texts that share words near each other", async () => {
    const client = clientOf(await start());
    const input = ["the harvest of barley", "a barley harvest", "letters in a copper lantern"];
    const [first, second, third] = (await client.embeddings.create({ model, input })).data.map(
      (entry) => entry.embedding,
    );
    expect(cosine(first ?? [], second ?? [])).toBeGreaterThan(cosine(first ?? [], third ?? []) + 0.3);
  });

  test("lists and retrieves the model", async () => {
    const client = clientOf(await start(await smallEncoder()));
    const ids: string[] = [];
    for await (const card of client.models.list()) ids.push(card.id);
    expect(ids).toEqual([model]);
    expect((await client.models.retrieve(model)).object).toBe("model");
  });

  test("gets errors of its own classes, with status, code, field and request id", async () => {
    const client = clientOf(await start(await smallEncoder()));
    await expect(client.embeddings.create({ model: "gpt-9", input: "a" })).rejects.toMatchObject({
      constructor: OpenAI.NotFoundError,
      code: "model_not_found",
      param: "model",
      requestID: expect.stringMatching(/^req_/),
    });
    await expect(client.embeddings.create({ model, input: [] })).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    await expect(client.embeddings.create({ model, input: "word ".repeat(100) })).rejects.toMatchObject({
      status: 400,
      code: "context_length_exceeded",
    });
  });

  test("gets 429 with a time to come back when the queue is full, and its retries get through", async () => {
    const service = await start({ ...(await smallEncoder()), maxQueueSize: 4 });
    const { batcher } = service.embedder;
    batcher.pause();
    const input = "grey rain";
    const eager = Promise.allSettled(
      Array.from({ length: 12 }, () => clientOf(service).embeddings.create({ model, input })),
    );
    await until(() => batcher.stats().rejected >= 8);
    batcher.resume();
    const refused = (await eager).filter((outcome) => outcome.status === "rejected").map((outcome) => outcome.reason);
    expect(refused.length).toBe(8);
    for (const error of refused) {
      expect(error).toBeInstanceOf(OpenAI.RateLimitError);
      expect(Number(error.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    }
    const patient = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: "any", maxRetries: 5 });
    batcher.pause();
    const all = Promise.all(Array.from({ length: 8 }, () => patient.embeddings.create({ model, input })));
    await until(() => batcher.stats().rejected >= 12);
    batcher.resume();
    expect(await all).toHaveLength(8);
  });

  test("gets 504 when the server's deadline passes", async () => {
    const service = await start({ ...(await smallEncoder()), timeoutMs: 20 });
    service.embedder.batcher.pause();
    const calls = Array.from({ length: 8 }, () => clientOf(service).embeddings.create({ model, input: "grey" }));
    const outcomes = await Promise.allSettled(calls);
    const last = outcomes.at(-1);
    expect(last).toMatchObject({ status: "rejected", reason: { status: 504, code: "deadline_exceeded" } });
  });
});

describe("a client that hangs up", () => {
  test("is removed from the queue, so that the next one is served at once", async () => {
    const service = await start(await slowEncoder());
    const client = clientOf(service);
    const input = "grey ".repeat(500);
    const leave = new AbortController();
    // Half of them ask for one text, half for an array of two.
    const lost = Array.from({ length: 40 }, (_, index) => {
      const asked = index % 2 === 0 ? input : [input, input];
      return client.embeddings.create({ model, input: asked }, { signal: leave.signal });
    });
    const outcomes = Promise.allSettled(lost);
    const { batcher } = service.embedder;
    await until(() => batcher.stats().submitted >= 60);
    leave.abort();
    await outcomes;
    await until(() => batcher.stats().waiting === 0);
    const { batches } = batcher.stats();
    await client.embeddings.create({ model, input: "short" });
    const after = batcher.stats();
    expect(after.cancelled).toBeGreaterThanOrEqual(50);
    // The batch that ran when they left may still be under way; nothing of theirs runs after it.
    expect(after.batches - batches).toBeLessThanOrEqual(2);
    expect(after.submitted).toBe(after.completed + after.cancelled);
  });

  test("in the middle of its body keeps nothing", async () => {
    const service = await start(await smallEncoder());
    const socket = createConnection(service.port, "127.0.0.1");
    socket.write('POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{"model":');
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    const { data } = await clientOf(service).embeddings.create({ model, input: "after" });
    expect(data).toHaveLength(1);
    expect(service.embedder.batcher.stats().submitted).toBe(1);
  });
});

describe("a body over the limit, through a socket", () => {
  const text = "a".repeat(10 * 1024 * 1024);

  test("is refused with the limit, and the service continues", async () => {
    const service = await start(await smallEncoder());
    const client = clientOf(service);
    await expect(client.embeddings.create({ model, input: text })).rejects.toMatchObject({
      status: 413,
      code: "request_too_large",
      message: expect.stringContaining("8388608"),
    });
    expect((await client.embeddings.create({ model, input: "short" })).data).toHaveLength(1);
  });

  test("is refused too when its length is not announced", async () => {
    const service = await start(await smallEncoder());
    const body = new Blob([JSON.stringify({ model, input: text })]).stream();
    const response = await fetch(`${service.url}/v1/embeddings`, {
      method: "POST",
      body,
      duplex: "half",
    } as RequestInit);
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ error: { code: "request_too_large" } });
  });

  test("is no matter for one text of the largest size: its tokens are", async () => {
    const client = clientOf(await start(await smallEncoder()));
    const input = "a".repeat(8_000_000);
    await expect(client.embeddings.create({ model, input })).rejects.toMatchObject({
      status: 400,
      code: "context_length_exceeded",
    });
  });
});

describe("the port", () => {
  test("is another one when the usual one is taken and any will do", async () => {
    const first = await start(await smallEncoder());
    const second = await start({ ...(await smallEncoder()), port: first.port, anyPortWillDo: true });
    expect(second.port).not.toBe(first.port);
    expect((await fetch(`${second.url}/healthz`)).status).toBe(200);
    await expect(start({ ...(await smallEncoder()), port: first.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});

describe("draining", () => {
  test("gives up on a connection that never finishes its request", async () => {
    const service = await start({ ...(await smallEncoder()), drainTimeoutMs: 200 });
    const socket = createConnection(service.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write('POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{"model":');
    await fetch(`${service.url}/healthz`);
    const startedAt = performance.now();
    expect(service.close()).toBe(service.close());
    await service.close();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    socket.destroy();
  });
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
