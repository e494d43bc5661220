// Google's text embeddings at Vertex AI, whose lines have no ids: results are identified by their
// texts, through a whole account over the official clients. Models without batches are refused.

import { gcsStorage } from "batchwise/dispatch/storage";
import { vertexAccount } from "batchwise/dispatch/vertex";
import { expect, test } from "vitest";
import type {
  Account,
  BatchName,
  CallOptions,
  ProviderBatch,
  ResultLine,
} from "../../../../src/dispatch/contract/account.ts";
import { customId } from "../../../../src/dispatch/format/encode.ts";
import { inputOf } from "../account-suite.ts";
import { openVertex, vertexClient } from "./vertex-case.ts";

const HOUR = 3_600_000;
const KEY = "01JD3K9V7QX2ABCDEFGHJKMNPQ";
const endpoint = "/v1/embeddings";
const name: BatchName = { key: KEY, attempt: 1, endpoint, model: "text-embedding-005" };
const call = (): CallOptions => ({ signal: new AbortController().signal, timeoutMs: 10_000 });

async function submit(account: Account, texts: readonly string[]): Promise<ProviderBatch> {
  const lines = texts.map((input, ord) => {
    const body = { model: name.model, input };
    account.checkBody(endpoint, body);
    return account.encodeLine({ customId: customId(KEY, ord), endpoint, body: JSON.stringify(body) });
  });
  const { fileId } = (await account.upload?.(inputOf(lines), call())) ?? { fileId: "" };
  return account.create({ ...name, input: { fileId }, firstBody: async () => "{}" }, call());
}

async function results(account: Account, batch: ProviderBatch | null): Promise<ResultLine[]> {
  const lines: ResultLine[] = [];
  for await (const line of account.results(batch as ProviderBatch, call(), name)) lines.push(line);
  return lines.sort((one, other) => one.customId.localeCompare(other.customId));
}

test("each request gets the vector of its own text, and requests with the same text one each", async () => {
  const { account, clock } = await openVertex();
  const { id } = await submit(account, ["one", "two", "one", "drei \u00e4\n", "one"]);
  await clock.advance(HOUR);
  const lines = await results(account, await account.retrieve(id, call()));
  expect(lines.map(({ customId: each }) => each)).toEqual([0, 1, 2, 3, 4].map((ord) => customId(KEY, ord)));
  const vectors = lines.map(({ response }) => JSON.stringify(response?.body.data));
  expect(vectors[0]).toBe(vectors[2]);
  expect(vectors[0]).toBe(vectors[4]);
  expect(new Set(vectors).size).toBe(3);
  expect(lines[0]).toMatchObject({
    response: {
      statusCode: 200,
      body: { object: "list", model: name.model, data: [{ object: "embedding", index: 0 }] },
    },
    usage: { inputTokens: 1, outputTokens: 0 },
  });
});

test("a result with an unknown text stops the reading: no request may count as missing", async () => {
  const { account, gcs, clock } = await openVertex();
  const { id } = await submit(account, ["one", "two"]);
  await clock.advance(HOUR);
  const done = await account.retrieve(id, call());
  const [object = ""] = gcs.names("bucket").filter((each) => each.endsWith("predictions.jsonl"));
  gcs.write(
    "bucket",
    object,
    Buffer.from(gcs.read("bucket", object) ?? [])
      .toString()
      .replace('"one"', '"One"'),
  );
  await expect(results(account, done)).rejects.toMatchObject({
    code: "RESULTS_UNREADABLE",
    message: expect.stringContaining("without a text of the batch"),
  });
});

test.each(["gemini-embedding-001", "google/gemini-embedding-2", "google/multimodalembedding@001"])(
  "%s, which has no batches there, is refused in words",
  async (model) => {
    const { account } = await openVertex();
    expect(() => account.checkBody(endpoint, { model, input: "a" })).toThrow(
      expect.objectContaining({
        code: "INVALID_REQUEST",
        message: expect.stringContaining("Vertex AI has no batches of"),
      }),
    );
  },
);

test("an account of text embeddings has their limits, and only their endpoint where its family says so", () => {
  const client = vertexClient("http://fake.test");
  const storage = gcsStorage({ client: { bucket: () => ({}) } as never, bucket: "bucket" });
  const { limits } = vertexAccount({ client, storage, models: ["text-embedding-005"] }).capabilities;
  expect(limits.maxRequests).toBe(30_000);
  expect(vertexAccount({ client, storage, family: "embedding" }).capabilities.endpoints).toEqual([endpoint]);
});
