// xAI's batches through the official OpenAI client, at the fake in xAI's dialect.

import type { DispatchRequest } from "batchwise/dispatch";
import { type FakeOptions, fakeProvider } from "batchwise/dispatch/testing";
import { xaiAccount } from "batchwise/dispatch/xai";
import OpenAI from "openai";
import { expect, test } from "vitest";
import type { CallOptions, ProviderBatch } from "../../../../src/dispatch/contract/account.ts";
import { drive } from "../../support/drive.ts";
import { isAtRest, world } from "../../support/world.ts";
import { inputOf } from "../account-suite.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const model = "grok-4.3";
const call: CallOptions = { signal: new AbortController().signal, timeoutMs: 10_000 };
const ask = (id: string): DispatchRequest => ({ id, body: { model, messages: [{ role: "user", content: id }] } });
const ended = { id: "batch_1", state: "done", resultRefs: ["batch_1"] } as unknown as ProviderBatch;
const name = { key: "01JD3K9V7QX2ABCDEFGHJKMNPQ", attempt: 1, endpoint: "/v1/chat/completions", model } as const;

/** A dispatcher over the fake, and the bodies of uploads and creates. */
function rig(options: FakeOptions = {}, first: (request: Request) => Response | null = () => null) {
  const place = world();
  const fake = fakeProvider({ clock: place.time, dialect: "xai", ...options });
  const sent: { readonly path: string; readonly text: string }[] = [];
  const watch: typeof fetch = async (input, init) => {
    const request = new Request(input as Request, init);
    if (request.method === "POST")
      sent.push({ path: new URL(request.url).pathname, text: await request.clone().text() });
    return first(request) ?? fake.fetch(request);
  };
  const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: watch });
  return { ...place, fake, sent, client };
}

test("a file goes up without a purpose, and a create has only its name and its file", async () => {
  const { client, sent } = rig();
  const account = xaiAccount({ client });
  const line = account.encodeLine({
    customId: "a_0000001",
    endpoint: name.endpoint,
    body: JSON.stringify(ask("a").body),
  });
  const { fileId } = (await account.upload?.(inputOf([line]), call)) ?? { fileId: "" };
  await account.create({ ...name, input: { fileId }, firstBody: async () => "" }, call);
  expect([...(sent[0]?.text ?? "").matchAll(/ name="(\w+)"/g)].map(([, field]) => field)).toEqual(["file"]);
  expect(JSON.parse(sent[1]?.text ?? "")).toEqual({ name: `batchwise-${name.key}-1`, input_file_id: fileId });
  const files: string[] = [];
  for await (const file of account.listFiles?.(call) ?? []) files.push(file.fileName);
  expect(files).toEqual([`${name.key}-1.jsonl`]);
});

test("a create whose answer was lost is found by its name behind two pages of others", async () => {
  const { start, store, time, fake, client } = rig({ listLagMs: 40_000 });
  fake.inject({ on: "batches.create", reply: "drop" });
  const dispatcher = await start({ accounts: [xaiAccount({ client })], thresholds: { maxAgeMs: MINUTE } });
  await dispatcher.enqueueMany(["a", "b"].map(ask));
  await drive(time, fake, async () => fake.batches().length === 1);
  for (let n = 0; n < 205; n += 1) fake.addForeign({ requests: 1 });
  await drive(time, fake, () => isAtRest(store, time.now()));
  const { outcomes } = await dispatcher.stats();
  expect([outcomes.succeeded, fake.calls("batches.create")]).toEqual([2, 1]);
  expect([...fake.runs().values()]).toEqual([1, 1]);
  await dispatcher.stop();
});

test("results come in pages of a hundred, whose answers may be long, and one that names itself as the next is an error", async () => {
  const pages: (string | null)[] = [];
  const next = ["100", "200", null];
  const { client } = rig({}, ({ url }) => {
    const { searchParams } = new URL(url);
    pages.push(`${searchParams.get("limit")} ${searchParams.get("pagination_token")}`);
    return Response.json({ results: [], pagination_token: next.length > 1 ? next.shift() : next[0] });
  });
  const account = xaiAccount({ client });
  const readAll = async (): Promise<void> => {
    for await (const _ of account.results(ended, call, name));
  };
  await readAll();
  expect(pages).toEqual(["100 null", "100 100", "100 200"]);
  next.push("5");
  next.shift();
  await expect(readAll()).rejects.toThrow("names itself");
});

test("a batch whose file xAI is still reading when it looks done runs every request once", async () => {
  const { start, store, time, fake, client } = rig();
  const told: string[] = [];
  const onError = (error: unknown) => told.push(String(error));
  const half = (body: string): string =>
    body.replace(
      /"num_requests":4,"num_pending":\d,"num_success":\d/,
      '"num_requests":2,"num_pending":0,"num_success":2',
    );
  const thresholds = { maxAgeMs: MINUTE };
  const dispatcher = await start({ accounts: [xaiAccount({ client })], thresholds, onError });
  await dispatcher.enqueueMany(["a", "b", "c", "d"].map(ask));
  fake.planNext({ runMs: 4 * HOUR });
  await drive(time, fake, async () => fake.batches().length === 1);
  await time.advance(2 * HOUR + 2 * MINUTE);
  fake.inject({ on: "batches.retrieve", reply: { edit: half } });
  fake.inject({ on: "batches.list", reply: { edit: half } });
  await drive(time, fake, () => isAtRest(store, time.now()));
  expect((await dispatcher.stats()).outcomes.succeeded).toBe(4);
  expect([fake.calls("batches.create"), ...fake.runs().values()]).toEqual([1, 1, 1, 1, 1]);
  expect(told[0]).toContain("have 2 lines of 4 requests");
  await dispatcher.stop();
});

test("a page of results that is no JSON, or no page, is read again", async () => {
  const bodies = ["{", '{"a":1}', '{"results":[]}'];
  const headers = { "content-type": "application/json" };
  const { client } = rig({}, () => new Response(bodies.shift(), { headers }));
  const account = xaiAccount({ client });
  const read = async (): Promise<number> => {
    let lines = 0;
    for await (const _ of account.results(ended, call, name)) lines += 1;
    return lines;
  };
  await expect(read()).rejects.toMatchObject({ code: "RESULTS_UNREADABLE" });
  await expect(read()).rejects.toThrow("an array `results`");
  expect(await read()).toBe(0);
});

test("results that a gateway redirects are read through a `fetch` with classes of its own", async () => {
  const asked: string[] = [];
  const { client } = rig({}, ({ url }) => {
    const { pathname } = new URL(url);
    asked.push(pathname);
    const redirect = { status: 302, headers: { location: `${pathname}/` } };
    return foreign(pathname.endsWith("/") ? Response.json({ results: [] }) : new Response(null, redirect));
  });
  const lines: unknown[] = [];
  for await (const line of xaiAccount({ client }).results(ended, call, name)) lines.push(line);
  expect([lines, asked]).toEqual([[], ["/v1/batches/batch_1/results", "/v1/batches/batch_1/results/"]]);
});

/** The response as another implementation's: of no class of this realm, as are its headers. */
function foreign<Own extends object>(own: Own): Own {
  return new Proxy(own, {
    getPrototypeOf: () => null,
    get: (target, field) => {
      const value: unknown = Reflect.get(target, field, target);
      if (typeof value === "function") return value.bind(target);
      return value instanceof Headers ? foreign(value) : value;
    },
  });
}

test("a model that xAI runs in no batch pauses its lane, and one request pays for it", async () => {
  const { start, time, fake, client } = rig({ models: ["grok-4.3"] });
  const told: string[] = [];
  const accounts = [xaiAccount({ client })];
  const onError = (error: unknown) => told.push(String(error));
  const dispatcher = await start({ accounts, thresholds: { maxAgeMs: MINUTE }, onError });
  const bodies = ["a", "b", "c"].map((id) => ({ id, body: { ...ask(id).body, model: "grok-4.5" } }));
  await dispatcher.enqueueMany([...bodies, ask("d")]);
  await drive(time, fake, async () => (await dispatcher.stats()).outcomes.failed === 1);
  expect(told.join()).toContain("is not supported by the Batch API");
  // A batch of each model, and at most one of the requests that wait.
  expect(fake.batches().length).toBeLessThanOrEqual(3);
  await dispatcher.stop();
});

test("a batch that failed once some had run keeps their results, and the rest goes again", async () => {
  const { start, store, time, fake, client } = rig();
  const stopped = (body: string): string =>
    body
      .replace('"cancel_by_xai_message":null', '"cancel_by_xai_message":"The batch was stopped."')
      .replace(/"num_pending":\d/, '"num_pending":0');
  const dispatcher = await start({ accounts: [xaiAccount({ client })], thresholds: { maxAgeMs: MINUTE } });
  await dispatcher.enqueueMany(["a", "b", "c", "d"].map(ask));
  fake.planNext({ runMs: 4 * HOUR });
  await drive(time, fake, async () => fake.batches().length === 1);
  await time.advance(2 * HOUR + 2 * MINUTE);
  fake.inject({ on: "batches.retrieve", reply: { edit: stopped } });
  fake.inject({ on: "batches.list", reply: { edit: stopped } });
  await drive(time, fake, () => isAtRest(store, time.now()));
  expect((await dispatcher.stats()).outcomes.succeeded).toBe(4);
  expect(fake.calls("batches.create")).toBe(2);
  await dispatcher.stop();
});

test.each([0, 2])(
  "a batch that xAI stops for credit, with %i requests open, pauses the account before the next create",
  async (open) => {
    const { start, time, fake, client } = rig();
    const told: string[] = [];
    const onError = (error: unknown) => told.push(String(error));
    const stopped = (body: string): string =>
      body
        .replace('"cancel_by_xai_message":null', '"cancel_by_xai_message":"Your team has insufficient credits."')
        .replace(/"num_pending":\d/, `"num_pending":${open}`);
    const accounts = [xaiAccount({ client })];
    const dispatcher = await start({ accounts, thresholds: { maxAgeMs: MINUTE }, onError });
    await dispatcher.enqueueMany(["a", "b", "c", "d"].map(ask));
    fake.planNext({ runMs: 4 * HOUR });
    await drive(time, fake, async () => fake.batches().length === 1);
    await time.advance(2 * HOUR + 2 * MINUTE);
    fake.inject({ on: "batches.retrieve", reply: { edit: stopped } });
    fake.inject({ on: "batches.list", reply: { edit: stopped } });
    await drive(time, fake, async () => told.length > 0);
    await dispatcher.enqueueMany(["e", "f"].map(ask));
    await time.advance(5 * MINUTE);
    expect([fake.calls("files.create"), fake.calls("batches.create")]).toEqual([1, 1]);
    expect(told.join()).toContain("insufficient credits");
    await dispatcher.stop();
  },
);

test("with cleanup the input is deleted, and the batch stays", async () => {
  const { start, store, time, fake, client } = rig();
  const dispatcher = await start({
    accounts: [xaiAccount({ client, cleanup: true })],
    thresholds: { maxAgeMs: MINUTE },
  });
  await dispatcher.enqueue(ask("a"));
  await drive(time, fake, () => isAtRest(store, time.now()));
  await drive(time, fake, async () => fake.calls("files.delete") === 1);
  await dispatcher.stop();
});

test.each([
  ["responses", { endpoint: "/v1/responses", body: { model, input: "a" } }, "not served"],
  ["streams", { endpoint: name.endpoint, body: { ...ask("a").body, stream: true } }, "stream"],
])("refuses %s", (_what, { endpoint, body }, words) => {
  const account = xaiAccount({ client: rig().client });
  expect(() => account.checkBody(endpoint, body as never)).toThrow(words);
});

test.each([
  ["no client", {}],
  ["a client without calls", { client: { files: {} } }],
  ["OpenAI's client without xAI's address", { client: new OpenAI({ apiKey: "key" }) }],
  ["OpenAI's client in a region", { client: new OpenAI({ apiKey: "key", baseURL: "https://eu.api.openai.com/v1" }) }],
  ["an option of another account", { client: rig().client, service: "groq" }],
])("refuses %s", (_what, options) => {
  expect(() => xaiAccount(options as never)).toThrow(expect.objectContaining({ code: "INVALID_OPTION" }));
});
