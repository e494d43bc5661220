// The account over Mistral's official client, with answers that the client does not expect.

import { HTTPClient, Mistral } from "@mistralai/mistralai";
import { type MistralAccountOptions, mistralAccount } from "batchwise/dispatch/mistral";
import { type FakeOptions, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import { type VirtualClock, virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import type { Account, BatchName, CallOptions, ResultLine } from "../../../../src/dispatch/contract/account.ts";
import type { JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { customId, ulid } from "../../../../src/dispatch/format/encode.ts";
import { foreign } from "../../support/foreign-headers.ts";
import { inputOf } from "../account-suite.ts";

const HOUR = 3_600_000;
const KEY = ulid(Date.UTC(2026, 0, 1), () => 0.5);
const CHAT: BatchName = { key: KEY, attempt: 1, endpoint: "/v1/chat/completions", model: "m" };
const call: CallOptions = { signal: new AbortController().signal, timeoutMs: 10_000 };
const hi: JsonObject = { model: "m", messages: [{ role: "user", content: "Hi" }] };

interface Rig {
  readonly account: Account;
  readonly fake: FakeProvider;
  readonly clock: VirtualClock;
}

/** `change` may alter each answer before the client gets it. */
function rig(
  options: Partial<MistralAccountOptions> = {},
  change: (url: URL, answer: Response) => Response | Promise<Response> = (_url, answer) => answer,
  fakeOptions: FakeOptions = {},
): Rig {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const fake = fakeProvider({ clock, dialect: "mistral", ...fakeOptions });
  const fetcher = async (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
    change(new URL(input instanceof Request ? input.url : input), await fake.fetch(input, init));
  const retryConfig = { strategy: "backoff" } as const;
  const httpClient = new HTTPClient({ fetcher });
  const client = new Mistral({ apiKey: "key", serverURL: "http://fake.test", httpClient, retryConfig });
  return { account: mistralAccount({ client, ...options }), fake, clock };
}

async function send(account: Account, bodies: readonly JsonObject[] = [hi], name: BatchName = CHAT) {
  const lines = bodies.map((body, ord) => {
    account.checkBody(name.endpoint, body);
    return account.encodeLine({
      customId: customId(name.key, ord),
      endpoint: name.endpoint,
      body: JSON.stringify(body),
    });
  });
  const input = inputOf(lines);
  const isInline = input.bytes <= account.capabilities.maxInlineBytes;
  const uploaded = isInline ? undefined : await account.upload?.(input, call);
  const firstBody = async (): Promise<string> => JSON.stringify(bodies[0]);
  return account.create({ ...name, input: uploaded ?? input, firstBody }, call);
}

async function outcomes(account: Account, id: string, name: BatchName = CHAT): Promise<ResultLine[]> {
  const batch = await account.retrieve(id, call);
  if (batch === null) throw new Error("Expected a batch.");
  const lines: ResultLine[] = [];
  for await (const line of account.results(batch, call, name)) lines.push(line);
  return lines;
}

const replace = (answer: Response, body: string, contentType = "application/json"): Response =>
  new Response(body, { status: answer.status, headers: { "content-type": contentType } });

describe("the Mistral account", () => {
  test.each<[string, string, JsonObject, object]>([
    ["embeddings", "/v1/embeddings", { model: "m", input: ["a"], dimensions: 4 }, { object: "list" }],
    ["moderations", "/v1/moderations", { model: "m", input: "a" }, { results: [{ flagged: expect.any(Boolean) }] }],
    [
      "a body of Mistral's own, untouched both ways",
      "/v1/fim/completions",
      { model: "m", prompt: "def f", suffix: "return", max_completion_tokens: 1 },
      { asked: { model: "m", prompt: "def f", suffix: "return", max_completion_tokens: 1 } },
    ],
  ])("runs %s", async (_case, endpoint, body, answer) => {
    const { account, clock } = rig();
    const name = { ...CHAT, endpoint };
    const { id } = await send(account, [body], name);
    await clock.advance(HOUR);
    expect(await outcomes(account, id, name)).toMatchObject([
      { response: { statusCode: 200, body: answer }, error: null },
    ]);
  });

  test("refuses fields that Mistral does not take, before anything is stored", () => {
    const { account } = rig();
    expect(() => account.checkBody("/v1/responses", hi)).toThrow('the endpoint "/v1/responses" is not served there');
    expect(() => account.checkBody("/v1/ocr", { model: "m", stream: true })).toThrow("`stream` is not possible");
    expect(() => account.checkBody("/v1/chat/completions", { ...hi, logprobs: true })).toThrow("`logprobs`");
  });

  test("sends no call twice, despite the client's option to repeat", async () => {
    const { account, fake } = rig();
    fake.inject({ on: "jobs.create", accept: false, reply: { status: 503 } });
    await expect(send(account)).rejects.toMatchObject({ statusCode: 503 });
    expect(fake.calls("jobs.create")).toBe(1);
  });

  test("gives a call up after its time, although the client takes none beside a signal", async () => {
    const { account, fake } = rig();
    fake.inject({ on: "jobs.get", delayMs: HOUR });
    const timed = account.retrieve("job-1", { ...call, timeoutMs: 20 });
    const error = await timed.catch((reason: unknown) => reason);
    expect(account.classify(error, "retrieve").kind).toBe("unknown");
  });

  test("has its window, and its end by it", async () => {
    const { account, clock } = rig({ timeoutHours: 48 });
    expect(account.capabilities.completionWindowMs).toBe(48 * HOUR);
    const { id, expiresAt } = await send(account);
    expect(expiresAt).toBe(clock.now() + 48 * HOUR);
    expect((await account.retrieve(id, call))?.expiresAt).toBe(clock.now() + 48 * HOUR);
  });
});

describe("an answer that the client cannot read", () => {
  test("does not hide a created job: its id is read from the answer", async () => {
    const { account, fake } = rig({}, async (url, answer) => {
      if (!url.pathname.endsWith("/jobs")) return answer;
      const { object: _, created_at: createdAt, ...job } = (await answer.json()) as JsonObject;
      return replace(answer, JSON.stringify({ ...job, created_at: Number(createdAt) + 0.25, brand_new: true }));
    });
    const { id, tag } = await send(account);
    expect(id).toBe(fake.batches()[0]?.id);
    expect(tag).toEqual({ key: KEY, attempt: 1 });
  });

  test("of another content type is a download all the same", async () => {
    const { account, clock } = rig({}, async (url, answer) =>
      url.pathname.endsWith("/content") ? replace(answer, await answer.text(), "application/jsonl") : answer,
    );
    const { id } = await send(account, [hi, hi]);
    await clock.advance(HOUR);
    expect(await outcomes(account, id)).toHaveLength(2);
  });

  test("is read after a redirect where the client's fetch is of another library", async () => {
    const { account, clock } = rig({}, (url, answer) => {
      if (url.pathname.endsWith("/content")) {
        return new Response(null, { status: 302, headers: { location: "/elsewhere" } });
      }
      if (url.pathname !== "/elsewhere") return answer;
      const { body } = new Response('{"custom_id":"a","response":{"status_code":200,"body":{"choices":[{}]}}}\n');
      return { ok: true, status: 200, headers: foreign(new Headers()), body } as unknown as Response;
    });
    const { id } = await send(account, [hi, hi]);
    await clock.advance(HOUR);
    expect(await outcomes(account, id)).toMatchObject([{ customId: "a" }]);
  });

  test("and empty may be one that broke off: it is no end of the results", async () => {
    const { account, clock } = rig({}, (url, answer) =>
      url.pathname.endsWith("/content") ? replace(answer, "", "application/jsonl") : answer,
    );
    const { id } = await send(account);
    await clock.advance(HOUR);
    await expect(outcomes(account, id)).rejects.toMatchObject({ statusCode: 200 });
  });
});

describe("a job is found by its tag", () => {
  const isFiltered = (url: URL): boolean => url.searchParams.has("batchwise_key");
  const noJobs = JSON.stringify({ object: "list", data: [], total: 0 });

  test.each<[string, (url: URL, answer: Response) => Response, number]>([
    ["that the service filters by", (_url, answer) => answer, 1],
    ["where the service finds nothing by it", (url, answer) => (isFiltered(url) ? replace(answer, noJobs) : answer), 2],
    [
      "where the service refuses to filter",
      (url, answer) => (isFiltered(url) ? new Response('{"detail":"no"}', { status: 422 }) : answer),
      2,
    ],
  ])("%s", async (_case, change, lists) => {
    const { account, fake } = rig({}, change);
    for (let n = 0; n < 3; n += 1) fake.addForeign({ requests: 2 });
    const { id } = await send(account);
    await send(account, [hi], { ...CHAT, key: `${KEY.slice(0, -1)}X` });
    const found = (await account.find?.(CHAT, call)) ?? [];
    expect(found.map((batch) => batch.id)).toEqual([id]);
    expect(fake.calls("jobs.list")).toBe(lists);
  });

  test("of a job that is not there: after a look at the list, back to the time of the key", async () => {
    const { account, fake, clock } = rig({}, (_url, answer) => answer, { clockSkewMs: -24 * HOUR });
    for (let n = 0; n < 3; n += 1) fake.addForeign({ requests: 2 });
    await clock.settle();
    expect(await account.find?.(CHAT, call)).toEqual([]);
    expect(fake.calls("jobs.list")).toBe(2);
  });

  test("and an error that says nothing about the filter is an error", async () => {
    const { account, fake } = rig();
    fake.inject({ on: "jobs.list", reply: { status: 503 } });
    await expect(account.find?.(CHAT, call)).rejects.toMatchObject({ statusCode: 503 });
  });
});

describe("inline requests", () => {
  const inline = (account: Account): Account =>
    Object.defineProperty(account, "capabilities", { value: { ...account.capabilities, maxInlineBytes: 10_000 } });

  test("have their results in the job", async () => {
    const { account, clock, fake } = rig();
    const { id } = await send(inline(account), [hi, { ...hi, temperature: 0 }]);
    expect(fake.calls("files.create")).toBe(0);
    await clock.advance(HOUR);
    const lines = await outcomes(account, id);
    expect(lines.map(({ customId: name }) => name).toSorted()).toEqual([customId(KEY, 0), customId(KEY, 1)]);
  });

  test("are cleaned up with the job", async () => {
    const { account, clock } = rig({ cleanup: true });
    const { id } = await send(inline(account));
    await clock.advance(HOUR);
    await account.cleanup?.({ ...CHAT, providerBatchId: id, fileId: null }, call);
    expect(await account.retrieve(id, call)).toBeNull();
    await account.cleanup?.({ ...CHAT, providerBatchId: id, fileId: null }, call);
  });
});

describe("files", () => {
  const namesOf = async (account: Account): Promise<string[]> => {
    const names: string[] = [];
    for await (const { fileName } of account.listFiles?.(call) ?? []) names.push(fileName);
    return names;
  };

  test("are listed to the last page and deleted; one that is gone is no error", async () => {
    const { account } = rig();
    const uploads = Array.from({ length: 101 }, () => account.upload?.(inputOf([`{"n":1}\n`]), call));
    const [first] = await Promise.all(uploads);
    expect(await namesOf(account)).toHaveLength(101);
    for (let n = 0; n < 2; n += 1) await account.deleteFile?.(first?.fileId ?? "", call);
    expect(await namesOf(account)).toHaveLength(100);
  });

  test("of a batch are deleted by the clean-up, which keeps the job", async () => {
    const { account, clock, fake } = rig({ cleanup: true });
    const batch = await send(account);
    await clock.advance(HOUR);
    await account.cleanup?.({ ...CHAT, providerBatchId: batch.id, fileId: batch.inputFileId }, call);
    expect(await namesOf(account)).toEqual([]);
    expect(fake.calls("files.delete")).toBe(2);
    expect(await account.retrieve(batch.id, call)).toMatchObject({ state: "done" });
  });

  test("above a chunk keep every line, whatever its letters", async () => {
    const { account, clock } = rig();
    const bodies = Array.from({ length: 300 }, (_, n) => ({
      model: "m",
      messages: [{ role: "user", content: `${n} ${"é€😀".repeat(100)}` }],
    }));
    const { id } = await send(account, bodies);
    await clock.advance(HOUR);
    const lines = await outcomes(account, id);
    const said = lines.map(({ customId: name, response }) => [name, JSON.stringify(response?.body)] as const);
    for (const [name, text] of said) expect(text).toContain(`echo: ${Number(name.slice(-7))} é€😀`);
    expect(said).toHaveLength(300);
  });
});

describe("an account with options that make no sense", () => {
  const client = new Mistral({ apiKey: "key" });

  test.each<[object, string]>([
    [{ client: {} }, "Expected `client.files`"],
    [
      { client: { files: client.files, batch: { jobs: { create() {} } } } },
      "got one without get, list, cancel, delete",
    ],
    [{ client, timeoutHours: 0.5 }, "Expected `timeoutHours` to be an integer >= 1"],
    [{ client, timeoutHour: 3 }, "Unknown option `timeoutHour`, did you mean `timeoutHours`?"],
  ])("%# is refused in words", (options, words) => {
    expect(() => mistralAccount(options as MistralAccountOptions)).toThrow(words);
  });
});
