// The fake Gemini API through the official client, which uploads in chunks and converts requests
// and answers.

import { type ApiError, type BatchJob, GoogleGenAI, type InlinedRequest } from "@google/genai";
import { type FakeOptions, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { afterEach, describe, expect, test, vi } from "vitest";

const HOUR = 3_600_000;
const MODEL = "model-a";

interface Rig {
  readonly fake: FakeProvider;
  readonly clock: VirtualClock;
  readonly client: GoogleGenAI;
}

function rig(options: FakeOptions = {}): Rig {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const fake = fakeProvider({ clock, ...options });
  const httpOptions = { baseUrl: "http://fake.test", fetch: fake.fetch };
  return { fake, clock, client: new GoogleGenAI({ apiKey: "key", httpOptions }) };
}

const contents = (text: string) => [{ role: "user", parts: [{ text }] }];
const inline = (count: number): InlinedRequest[] =>
  Array.from({ length: count }, (_, n) => ({ contents: contents(`text ${n}`), metadata: { key: `k${n}` } }));
const create = ({ client }: Rig, count: number, displayName = "mine") =>
  client.batches.create({ model: MODEL, src: inline(count), config: { displayName } });
const lines = (count: number): object[] =>
  Array.from({ length: count }, (_, n) => ({ key: `k${n}`, request: { contents: contents(`text ${n}`) } }));

async function upload({ client }: Rig, content: readonly object[] | string): Promise<string> {
  const text = typeof content === "string" ? content : content.map((each) => `${JSON.stringify(each)}\n`).join("");
  const config = { displayName: "batch.jsonl", mimeType: "application/jsonl" };
  const { name } = await client.files.upload({ file: new Blob([text]), config });
  return String(name);
}

async function download({ fake }: Rig, name: string | undefined): Promise<Record<string, unknown>[]> {
  const url = `http://fake.test/v1beta/${name}:download?alt=media`;
  const response = await fake.fetch(url, { headers: { "x-goog-api-key": "key" } });
  const text = await response.text();
  return text.split("\n").flatMap((line) => (line === "" ? [] : JSON.parse(line)));
}

async function refusal(work: Promise<unknown>): Promise<{ readonly status: number; readonly message: string }> {
  const error = (await work.then(
    () => expect.fail("Expected a rejection."),
    (cause: unknown) => cause,
  )) as ApiError;
  return { status: error.status, message: error.message };
}

const nameOf = ({ name }: BatchJob): { readonly name: string } => ({ name: String(name) });

afterEach(() => vi.restoreAllMocks());

describe("batches of requests in the create", () => {
  test("run, and give each answer with the metadata of its request", async () => {
    const each = rig();
    const created = await create(each, 3);
    expect(created).toMatchObject({ displayName: "mine", state: "JOB_STATE_PENDING", model: `models/${MODEL}` });
    await each.clock.advance(HOUR);
    const done = await each.client.batches.get(nameOf(created));
    expect(done.state).toBe("JOB_STATE_SUCCEEDED");
    const answers = (done.dest?.inlinedResponses ?? []).map(({ metadata, response }) => [
      metadata?.key,
      response?.candidates?.[0]?.content?.parts?.[0]?.text,
    ]);
    expect(answers.toSorted()).toEqual([0, 1, 2].map((n) => [`k${n}`, `echo: text ${n}`]));
    expect([...each.fake.runs().values()]).toEqual([1, 1, 1]);
  });

  test("of the same name are two: creating is not idempotent", async () => {
    const each = rig();
    await create(each, 1);
    await create(each, 1);
    expect(each.fake.batches().map(({ surface }) => surface)).toEqual(["gemini", "gemini"]);
  });

  test("are refused above the size of a call, above the concurrent ones, and with names that do not exist", async () => {
    const each = rig({ limits: { maxCreateBytes: 500, concurrentBatches: 1 } });
    expect(await refusal(create(each, 10))).toMatchObject({
      status: 400,
      message: expect.stringContaining("500 bytes"),
    });
    await create(each, 1);
    const full = await refusal(create(each, 1));
    expect(full).toMatchObject({ status: 429, message: expect.stringContaining("RESOURCE_EXHAUSTED") });
    await each.clock.advance(HOUR);
    await create(each, 1);
    const extraBody = { batch: { inputConfig: { requests: { requests: [{ request: { content: [] } }] } } } };
    const config = { displayName: "odd", httpOptions: { extraBody } };
    const odd = await refusal(each.client.batches.create({ model: MODEL, src: inline(1), config }));
    expect(odd).toMatchObject({ status: 400, message: expect.stringContaining('Unknown name \\"content\\"') });
  });

  test("that succeed may hold items that failed, each with its error", async () => {
    const each = rig();
    const src = [...inline(1), { contents: contents("x"), config: { temperature: 9 }, metadata: { key: "bad" } }];
    const created = await each.client.batches.create({ model: MODEL, src, config: { displayName: "mine" } });
    await each.clock.advance(HOUR);
    const { dest, state } = await each.client.batches.get(nameOf(created));
    expect(state).toBe("JOB_STATE_SUCCEEDED");
    const bad = dest?.inlinedResponses?.find(({ metadata }) => metadata?.key === "bad");
    expect(bad?.error).toMatchObject({ code: 3, message: expect.stringContaining("temperature: out of range") });
  });

  test("give nothing once their 48 hours are over, nor when they were cancelled", async () => {
    const each = rig({ plan: { runMs: 50 * HOUR } });
    const [slow, stopped] = [await create(each, 4), await create(each, 4)];
    await each.clock.advance(30 * HOUR);
    await each.client.batches.cancel(nameOf(stopped));
    await each.clock.advance(18 * HOUR);
    for (const [job, state] of [
      [slow, "JOB_STATE_EXPIRED"],
      [stopped, "JOB_STATE_CANCELLED"],
    ] as const) {
      const ended = await each.client.batches.get(nameOf(job));
      expect([ended.state, ended.dest]).toEqual([state, undefined]);
    }
    expect(await refusal(each.client.batches.cancel(nameOf(slow)))).toMatchObject({ status: 400 });
  });

  test("that are deleted are no longer shown, and run on", async () => {
    const each = rig();
    const created = await create(each, 2);
    await each.client.batches.delete(nameOf(created));
    expect(await refusal(each.client.batches.get(nameOf(created)))).toMatchObject({ status: 404 });
    await each.clock.advance(HOUR);
    expect(each.fake.runs().size).toBe(2);
  });
});

describe("batches from a file", () => {
  test("run, and write a file with the key of each line", async () => {
    const each = rig();
    const src = await upload(each, lines(3));
    const created = await each.client.batches.create({ model: MODEL, src, config: { displayName: "mine" } });
    await each.clock.advance(HOUR);
    const { dest } = await each.client.batches.get(nameOf(created));
    const results = await download(each, dest?.fileName);
    expect(results.map(({ key }) => key).toSorted()).toEqual(["k0", "k1", "k2"]);
    expect(results[0]).toHaveProperty("response.candidates");
  });

  test("of more than one chunk arrive whole", async () => {
    const each = rig();
    const text = "x".repeat(9_000_000);
    const src = await upload(each, [{ key: "long", request: { contents: contents(text) } }]);
    const created = await each.client.batches.create({ model: MODEL, src, config: { displayName: "mine" } });
    expect(each.fake.calls("geminiFiles.upload")).toBe(3);
    await each.clock.advance(HOUR);
    const { dest } = await each.client.batches.get(nameOf(created));
    expect(JSON.stringify(await download(each, dest?.fileName)).length).toBeGreaterThan(9_000_000);
  });

  test("fail as a whole where a line is no request, and only one line where it is wrong in itself", async () => {
    const each = rig();
    const broken = await upload(each, `${JSON.stringify(lines(1)[0])}\nnonsense\n`);
    const odd = await upload(each, [...lines(1), { key: "odd", request: { contents: contents("x"), wrong: 1 } }]);
    const config = { displayName: "mine" };
    const failing = await each.client.batches.create({ model: MODEL, src: broken, config });
    const passing = await each.client.batches.create({ model: MODEL, src: odd, config });
    await each.clock.advance(HOUR);
    expect((await each.client.batches.get(nameOf(failing))).state).toBe("JOB_STATE_FAILED");
    const { dest } = await each.client.batches.get(nameOf(passing));
    const results = await download(each, dest?.fileName);
    expect(results.find(({ key }) => key === "odd")).toMatchObject({ error: { code: 3 } });
  });

  test("need a file that is still there: after 48 hours it is not", async () => {
    const each = rig();
    const src = await upload(each, lines(1));
    await each.clock.advance(48 * HOUR);
    const gone = await refusal(each.client.batches.create({ model: MODEL, src, config: { displayName: "mine" } }));
    expect(gone).toMatchObject({ status: 403, message: expect.stringContaining("may not exist") });
  });
});

test("lists of batches and of files have pages", async () => {
  const each = rig();
  for (const n of [1, 2, 3]) await create(each, 1, `batch ${n}`);
  for (const n of [1, 2, 3]) await upload(each, lines(n));
  const batches = await each.client.batches.list({ config: { pageSize: 2 } });
  const seen: unknown[] = [];
  for await (const { displayName } of batches) seen.push(displayName);
  expect(seen).toEqual(["batch 3", "batch 2", "batch 1"]);
  const files: unknown[] = [];
  for await (const { sizeBytes } of await each.client.files.list({ config: { pageSize: 2 } })) files.push(sizeBytes);
  expect(files).toHaveLength(3);
  expect([each.fake.calls("gemini.list"), each.fake.calls("geminiFiles.list")]).toEqual([2, 2]);
});

test("embeddings give a vector for each content", async () => {
  vi.spyOn(console, "warn").mockReturnValue();
  const each = rig();
  const src = { inlinedRequests: { contents: ["a", "b"], config: { outputDimensionality: 6 } } };
  const created = await each.client.batches.createEmbeddings({ model: "e", src, config: { displayName: "mine" } });
  await each.clock.advance(HOUR);
  const { dest } = await each.client.batches.get(nameOf(created));
  const sizes = dest?.inlinedEmbedContentResponses?.map(({ response }) => response?.embedding?.values?.length);
  expect(sizes).toEqual([6, 6]);
});
