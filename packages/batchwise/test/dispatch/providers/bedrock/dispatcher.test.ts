// A whole dispatcher at Bedrock, over the official clients, in virtual time.

import type { FakeOptions } from "batchwise/dispatch/testing";
import { virtualClock } from "batchwise/testing";
import { beforeAll, describe, expect, test } from "vitest";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import type { DispatchRequest, Outcome } from "../../../../src/dispatch/contract/types.ts";
import { drive } from "../../support/drive.ts";
import { isAtRest, seeded, world } from "../../support/world.ts";
import { localBedrock } from "./rig.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function site(
  options: FakeOptions = {},
  account: Parameters<typeof localBedrock>[2] = {},
  more: Partial<DispatcherOptions> = {},
) {
  const { time, store, start } = world();
  const rig = localBedrock(time, options, { limits: { minRequests: 1 }, ...account });
  const errors: string[] = [];
  const dispatcher = await start({
    accounts: [rig.account],
    thresholds: { maxRequests: 200, maxAgeMs: MINUTE },
    onError: (error) => void errors.push(String(error)),
    random: seeded(3),
    ...more,
  });
  const rest = () => drive(time, rig.calls, () => isAtRest(store, time.now()));
  const pass = (ms: number) => {
    const end = time.now() + ms;
    return drive(time, rig.calls, async () => time.now() >= end);
  };
  const outcomesOf = async (requests: readonly DispatchRequest[]): Promise<Outcome[]> => {
    await dispatcher.enqueueMany(requests);
    await rest();
    return Promise.all(requests.map(({ id }) => dispatcher.result(String(id))));
  };
  return { ...rig, dispatcher, errors, rest, pass, outcomesOf };
}

/** The clients load modules at their first call, for which virtual time would not wait. */
beforeAll(async () => {
  const { account } = localBedrock(virtualClock());
  const call = { signal: new AbortController().signal, timeoutMs: 60_000 };
  await account.list({ cursor: null, limit: 1 }, call);
  const lines = async function* () {
    yield "{}\n";
  };
  await account.upload?.({ fileName: "first.jsonl", requests: 1, bytes: 3, lines }, call);
});

const chat = (model: string, count: number): DispatchRequest[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `${model}-${n}`,
    body: { model, max_tokens: 9, messages: [{ role: "user", content: `Say ${n}.` }] },
  }));

const textOf = ({ response }: Outcome): unknown => {
  const body = response?.body as { choices?: { message?: { content?: string } }[] } | undefined;
  return body?.choices?.[0]?.message?.content;
};

describe("requests to all families", () => {
  const models = [
    "us.anthropic.claude-haiku-4-5-v1:0",
    "us.amazon.nova-lite-v1:0",
    "us.meta.llama4-scout-17b-v1:0",
    "openai.gpt-oss-20b-1:0",
  ];

  test("are jobs of one model each, and every request gets its own answer in OpenAI's shape", async () => {
    const { fake, errors, outcomesOf } = await site();
    const outcomes = await outcomesOf(models.flatMap((model) => chat(model, 20)));
    for (const [index, outcome] of outcomes.entries()) {
      const body = { model: models[Math.floor(index / 20)] };
      expect(outcome).toMatchObject({ status: "succeeded", attempts: 1, response: { body } });
      expect(textOf(outcome)).toBe(`echo: Say ${index % 20}.`);
      expect(outcome.usage?.totalTokens).toBeGreaterThan(0);
    }
    expect(fake.batches()).toHaveLength(models.length);
    expect(errors).toEqual([]);
  });

  test("to Titan come back with a vector each", async () => {
    const { outcomesOf } = await site();
    const model = "amazon.titan-embed-text-v2:0";
    const outcomes = await outcomesOf(
      Array.from({ length: 20 }, (_, n) => ({ id: `e${n}`, body: { model, input: `text ${n}`, dimensions: 256 } })),
    );
    const vectors = outcomes.map(({ response }) => JSON.stringify(response?.body.data));
    expect(new Set(vectors).size).toBe(20);
    for (const { status, usage, response } of outcomes) {
      expect([status, usage?.outputTokens]).toEqual(["succeeded", 0]);
      expect(response?.body).toMatchObject({ object: "list", model, data: [{ object: "embedding", index: 0 }] });
    }
  });

  test("in a shape of their own travel untouched", async () => {
    const { outcomesOf } = await site();
    const messages = [{ role: "user", content: [{ text: "Hi" }] }];
    const body = { model: "deepseek.v3-v1:0", messages };
    const [outcome] = await outcomesOf([{ id: "a", endpoint: "/model/converse", body }]);
    const message = { role: "assistant", content: [{ text: "echo: Hi" }] };
    expect(outcome).toMatchObject({ status: "succeeded", response: { body: { output: { message } } } });
    expect(outcome?.usage?.outputTokens).toBeGreaterThan(0);
  });

  test.each([
    [
      "amazon.titan-embed-image-v1",
      { inputText: "a cat", inputImage: "aGk=", embeddingConfig: { outputEmbeddingLength: 384 } },
      { embedding: [0.5, -0.25], inputTextTokenCount: 3, message: null },
    ],
    [
      "amazon.nova-2-multimodal-embeddings-v1:0",
      {
        taskType: "SINGLE_EMBEDDING",
        singleEmbeddingParams: { embeddingPurpose: "GENERIC_INDEX", text: { truncationMode: "END", value: "a cat" } },
      },
      { embeddings: [{ embeddingType: "TEXT", embedding: [0.5, -0.25] }] },
    ],
  ])("to %s travel as the model's own bodies, and so do its answers", async (model, own, answer) => {
    const { outcomesOf, s3 } = await site({ answer: () => ({ status: 200, body: answer }) });
    const [outcome] = await outcomesOf([{ id: "a", endpoint: "/model/invoke", body: { model, ...own } }]);
    expect(outcome).toMatchObject({ status: "succeeded", response: { statusCode: 200 } });
    expect(outcome?.response?.body).toEqual(answer);
    const [input = ""] = s3.names("bucket").filter((name) => name.includes("/inputs/"));
    const line = JSON.parse(Buffer.from(s3.read("bucket", input) ?? []).toString());
    expect(line).toEqual({ recordId: expect.any(String), modelInput: own });
  });

  test("of an unknown model are refused at enqueue, in words", async () => {
    const { dispatcher } = await site();
    const [request] = chat("my-profile", 1);
    await expect(dispatcher.enqueue(request as DispatchRequest)).rejects.toThrow('use the endpoint "/model/invoke"');
    await dispatcher.stop();
  });
});

describe("failures of a job", () => {
  const requests = chat("us.amazon.nova-lite-v1:0", 30);
  const once = requests.map(() => 1);

  test("answers that are lost after the create was accepted make no second job", async () => {
    const { fake, outcomesOf } = await site();
    fake.inject({ on: "invocationJobs.create", reply: "drop", times: 2 });
    fake.inject({ on: "invocationJobs.create", reply: { status: 500 } });
    const outcomes = await outcomesOf(requests);
    expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
    expect(fake.calls("invocationJobs.create")).toBe(4);
    expect(fake.batches()).toHaveLength(1);
    expect([...fake.runs().values()]).toEqual(once);
  });

  test("records that fail, that are missing and that come twice end as one outcome each", async () => {
    const bad = { failedShare: 0.2, missingLines: 2, duplicateLines: 3 };
    const { outcomesOf } = await site({ plan: ({ index }) => (index === 0 ? bad : {}) });
    const outcomes = await outcomesOf(requests);
    expect(outcomes.every(({ status }) => status === "succeeded")).toBe(true);
    expect(outcomes.filter(({ attempts }) => attempts === 2).length).toBeGreaterThan(3);
  });

  test("uploads and downloads that fail are repeated, and nothing runs twice", async () => {
    const { fake, s3, outcomesOf } = await site();
    s3.inject({ on: "objects.put", reply: "drop" });
    s3.inject({ on: "objects.put", accept: false, reply: { status: 503 } });
    s3.inject({ on: "objects.list", reply: { status: 503 } });
    s3.inject({ on: "objects.get", reply: { cutAtBytes: 500 } });
    s3.inject({ on: "objects.get", reply: { endAfterLines: 3 } });
    const outcomes = await outcomesOf(requests);
    expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
    expect([...fake.runs().values()]).toEqual(once);
  });

  test("outputs that appear an hour after the job's end are waited for", async () => {
    const { fake, outcomesOf } = await site({ plan: { resultsLagMs: HOUR / 2 } });
    const outcomes = await outcomesOf(requests);
    expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
    expect([...fake.runs().values()]).toEqual(once);
  });

  test("a job that runs out of time gives its half, and the rest goes again", async () => {
    const slow = { runMs: 26 * HOUR, expiredShare: 0.5 };
    const { fake, outcomesOf } = await site({ plan: ({ index }) => (index === 0 ? slow : {}) }, { pollMs: HOUR });
    const outcomes = await outcomesOf(requests);
    expect(outcomes.every(({ status }) => status === "succeeded")).toBe(true);
    expect(outcomes.filter(({ attempts }) => attempts === 2)).toHaveLength(15);
    expect([...fake.runs().values()]).toEqual(once);
  });

  test("as many jobs as a model may have is backpressure: no request is charged", async () => {
    const { fake, outcomesOf } = await site();
    const body = { message: "Too many jobs of this model." };
    const headers = { "x-amzn-errortype": "ServiceQuotaExceededException" };
    fake.inject({ on: "invocationJobs.create", accept: false, reply: { status: 400, body, headers }, times: 3 });
    const outcomes = await outcomesOf(requests);
    expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
  });

  test("a role without access charges no request", async () => {
    const message = "The provided role does not have the required permissions.";
    const denied = { failWith: { code: "x", message } };
    const { outcomesOf } = await site({ plan: ({ index }) => (index === 0 ? denied : {}) });
    const outcomes = await outcomesOf(requests);
    expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
  });
});

describe("a model's minimum of 100 records", () => {
  const fewest = { limits: { minLines: 100 } };
  const atBedrock = { limits: { minRequests: 100 } };
  const thresholds = { maxRequests: 100, maxAgeMs: 10 * MINUTE };
  const requests = chat("us.amazon.nova-lite-v1:0", 200);

  test("holds a tail back, onError says so, and the tail goes with later requests", async () => {
    const { dispatcher, fake, errors, pass, rest } = await site(fewest, atBedrock, { thresholds });
    await dispatcher.enqueueMany(requests.slice(0, 130));
    await pass(3 * HOUR);
    expect(fake.batches().map((batch) => [batch.requests, batch.state])).toEqual([[100, "completed"]]);
    expect(errors).toEqual([expect.stringContaining('"bedrock" takes at least 100')]);
    await dispatcher.enqueueMany(requests.slice(130));
    await rest();
    expect(await dispatcher.stats()).toMatchObject({ outcomes: { succeeded: 200 } });
  });

  test("ends a tail whose option is to fail", async () => {
    const { dispatcher, rest } = await site(fewest, atBedrock, { thresholds, onTail: "fail" });
    await dispatcher.enqueueMany(requests.slice(0, 130));
    await rest();
    expect(await dispatcher.stats()).toMatchObject({ outcomes: { succeeded: 100, failed: 30 } });
  });
});

test("with `cleanup` nothing stays in the bucket", async () => {
  const { s3, errors, outcomesOf } = await site({}, { cleanup: true });
  await outcomesOf(chat("us.amazon.nova-lite-v1:0", 10));
  expect(s3.names("bucket")).toEqual([]);
  expect(errors).toEqual([]);
});
