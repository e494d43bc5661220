// Requests that are asked again with the refused answer and the reason, through the official
// clients, and across processes.

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { openaiAccount } from "batchwise/dispatch/openai";
import { sqliteStore } from "batchwise/dispatch/sqlite";
import { type FakeLine, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { afterAll, expect, onTestFinished, test } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import type { OutputCheck } from "../../../../src/dispatch/contract/checks.ts";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import type { DispatchRequest, JsonObject } from "../../../../src/dispatch/contract/types.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { virtualClock } from "../../../../src/testing/index.ts";
import { makeFolder } from "../../stores/sqlite/folder.ts";
import { drive } from "../../support/drive.ts";
import { SimRunner } from "../../support/simulation/sim-runner.ts";
import { ask, isAtRest, START, seeded } from "../../support/world.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

const WHY = "It is not a number.";
/** Takes an answer that has seen the reason. */
const hasReason: OutputCheck = (body) => (JSON.stringify(body).includes(WHY) ? null : WHY);

const openai = (fake: FakeProvider): Account =>
  openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch }) });
const anthropic = (fake: FakeProvider): Account =>
  anthropicAccount({ client: new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: fake.fetch }) });
const gemini = (fake: FakeProvider): Account => {
  const httpOptions = { baseUrl: "http://fake.test", fetch: fake.fetch };
  return geminiAccount({ client: new GoogleGenAI({ apiKey: "key", httpOptions }) });
};

const chat = { model: "m", max_tokens: 50, messages: [{ role: "user", content: "How many?" }] };
const contents = [{ role: "user", parts: [{ text: "How many?" }] }];

type FakeOptions = NonNullable<Parameters<typeof fakeProvider>[0]>;

function rig(store: Store, account: (fake: FakeProvider) => Account, lines: FakeLine[] = [], more: FakeOptions = {}) {
  const time = virtualClock(START);
  const keep = (line: FakeLine) => {
    lines.push(line);
    return null;
  };
  const fake = fakeProvider({ clock: time, faultOf: keep, ...more });
  const base = {
    ...{ store, accounts: [account(fake)], clock: time, random: seeded(1), onError: () => {} },
    ...{ thresholds: { maxAgeMs: 0 }, retry: { backoffMs: 1_000 } },
  };
  const start = async (options: Partial<DispatcherOptions> = {}) => {
    const dispatcher = createDispatcher({ ...base, ...options });
    onTestFinished(() => dispatcher.stop());
    await dispatcher.start();
    return dispatcher;
  };
  return { time, fake, start, lines };
}

test.each([
  ["chat, at OpenAI", openai, { id: "a", body: chat }],
  ["Responses", openai, { id: "a", endpoint: "/v1/responses", body: { model: "m", input: "How many?" } }],
  ["chat, at Anthropic", anthropic, { id: "a", body: chat }],
  ["Messages", anthropic, { id: "a", endpoint: "/v1/messages", body: chat }],
  ["chat, at Gemini", gemini, { id: "a", body: chat }],
  ["generateContent", gemini, { id: "a", endpoint: "/v1beta/generateContent", body: { model: "m", contents } }],
] as [string, (fake: FakeProvider) => Account, DispatchRequest][])(
  "%s: the second try has answer and reason, and the stored body stays",
  async (_kind, account, request) => {
    const store = memoryStore();
    const { time, fake, start } = rig(store, account);
    const dispatcher = await start({ check: hasReason, reask: true });
    await dispatcher.enqueue(request);
    await drive(time, fake, () => isAtRest(store, time.now()));
    expect(await dispatcher.result("a")).toMatchObject({ status: "succeeded", attempts: 2 });
    expect(await dispatcher.enqueue(request)).toMatchObject({ existing: true });
    const { requests } = await dispatcher.requests({ ids: ["a"], bodies: true });
    expect(requests[0]?.body).toEqual(request.body);
  },
);

test("another process, which was started later and has no check, sends the turns", async () => {
  const path = folder.file();
  const first = sqliteStore({ path });
  const { time, fake, start, lines } = rig(first, openai);
  const one = await start({ check: () => WHY, reask: true, retry: { backoffMs: 60_000 } });
  const { id } = await one.enqueue({ body: chat });
  const store = sqliteStore({ path });
  const attempts = async () => (await store.requests({ ids: [id] }))[0]?.attempts;
  await drive(time, fake, async () => (await attempts()) === 1);
  await one.stop();
  const two = await start({ store });
  await drive(time, fake, async () => lines.length === 2);
  const answer = { role: "assistant", content: "echo: How many?" };
  const user = { role: "user", content: `${WHY} Answer again, in full, without this mistake.` };
  expect(lines[1]?.body.messages).toEqual([...chat.messages, answer, user]);
  // A request whose id was generated is compared by its stored body.
  expect(await two.enqueue({ id, body: chat })).toMatchObject({ existing: true });
});

test("turns replace those before them, and a retry by an operator keeps the last ones", async () => {
  const store = memoryStore();
  const { time, fake, start, lines } = rig(store, openai);
  const dispatcher = await start({ check: () => WHY, reask: true });
  await dispatcher.enqueue({ id: "a", body: chat });
  await drive(time, fake, () => isAtRest(store, time.now()));
  expect(await dispatcher.result("a")).toMatchObject({ status: "failed", attempts: 3 });
  expect(lines.map(({ body }) => (body.messages as JsonObject[]).length)).toEqual([1, 3, 3]);
  await dispatcher.retry("a");
  await drive(time, fake, async () => lines.length === 4);
  expect(lines[3]?.body).toEqual(lines[2]?.body);
  await drive(time, fake, () => isAtRest(store, time.now()));
  await dispatcher.retry("a", { body: { ...chat, seed: 1 } });
  await drive(time, fake, async () => lines.length === 7);
  expect(lines[6]?.body).toEqual({ ...chat, seed: 1 });
});

test("a line that would be too large goes again as it was", async () => {
  const store = memoryStore();
  const { time, fake, start, lines } = rig(store, openai);
  const check = () => "x".repeat(1_000);
  const dispatcher = await start({ check, reask: true, thresholds: { maxAgeMs: 0, maxBytes: 1_000 } });
  await dispatcher.enqueue({ id: "a", body: chat });
  await drive(time, fake, () => isAtRest(store, time.now()));
  expect(lines.map(({ body }) => body)).toEqual([chat, chat, chat]);
});

const choice = { message: { role: "assistant", content: "Seven" }, finish_reason: "stop" };
const seven = { status: 200, body: { choices: [choice] } };
const tooLong = { status: 400, body: { error: { code: "context_length_exceeded", message: "It is too long." } } };

test("a refusal of the longer line ends no request while tries are left: it goes again without the turns", async () => {
  const store = memoryStore();
  const answer = ({ body }: FakeLine) => ((body.messages as JsonObject[]).length > 1 ? tooLong : seven);
  const { time, fake, start, lines } = rig(store, openai, [], { answer });
  const dispatcher = await start({ check: () => WHY, reask: true, retry: { backoffMs: 1_000, attempts: 4 } });
  await dispatcher.enqueue({ id: "a", body: chat });
  const sizes: unknown[] = [];
  for (const count of [0, 1, 2, 3]) {
    await drive(time, fake, async () => (await store.requests({ ids: ["a"] }))[0]?.attempts === count);
    const [{ bytes, tokens } = { bytes: 0, tokens: 0 }] = await store.requests({ ids: ["a"] });
    sizes.push({ bytes, tokens });
  }
  await drive(time, fake, () => isAtRest(store, time.now()));
  expect(lines.map(({ body }) => (body.messages as JsonObject[]).length)).toEqual([1, 3, 1, 3]);
  expect(await dispatcher.result("a")).toMatchObject({ status: "failed", attempts: 4 });
  expect(sizes).toEqual([sizes[0], sizes[1], sizes[0], sizes[1]]);
  expect(sizes[1]).not.toEqual(sizes[0]);
});

test("also after a retry by an operator, whose tries start from 0", async () => {
  const store = memoryStore();
  const answer = ({ body }: FakeLine) => ((body.messages as JsonObject[]).length > 1 ? tooLong : seven);
  const { time, fake, start, lines } = rig(store, openai, [], { answer });
  const dispatcher = await start({ check: () => WHY, reask: true, retry: { backoffMs: 1_000, attempts: 2 } });
  await dispatcher.enqueue({ id: "a", body: chat });
  await drive(time, fake, () => isAtRest(store, time.now()));
  expect(lines.map(({ body }) => (body.messages as JsonObject[]).length)).toEqual([1, 3]);
  await dispatcher.retry(["a"]);
  await drive(time, fake, () => isAtRest(store, time.now()));
  expect(lines.map(({ body }) => (body.messages as JsonObject[]).length)).toEqual([1, 3, 3, 1]);
});

test("bodies of requests that fail in their first try are not read for turns: they have none", async () => {
  const readsWith = async (options: Partial<DispatcherOptions>): Promise<number> => {
    const store = memoryStore();
    let reads = 0;
    const watching = new Proxy(store, {
      get: (object, name) => {
        const value: unknown = Reflect.get(object, name);
        if (name !== "requests") return typeof value === "function" ? value.bind(object) : value;
        return (query: { readonly bodies?: boolean }) => {
          if (query.bodies) reads += 1;
          return object.requests(query as never);
        };
      },
    });
    const refused = { status: 400, body: { error: { message: "No.", code: "invalid_request" } } };
    const { time, fake, start } = rig(watching, openai, [], { answer: () => refused });
    const dispatcher = await start(options);
    await dispatcher.enqueueMany([ask("a"), ask("b"), ask("c")]);
    await drive(time, fake, () => isAtRest(store, time.now()));
    expect((await dispatcher.stats()).outcomes.failed).toBe(3);
    return reads;
  };
  expect(await readsWith({ check: () => null })).toBe(await readsWith({}));
});

test("without `reask` the same body goes again, and `reask` needs a check", async () => {
  const store = memoryStore();
  const { time, fake, start, lines } = rig(store, openai);
  const dispatcher = await start({ check: () => WHY });
  await dispatcher.enqueue({ id: "a", body: chat });
  await drive(time, fake, () => isAtRest(store, time.now()));
  expect(lines.map(({ body }) => body)).toEqual([chat, chat, chat]);
  const invalid = expect.objectContaining({ code: "INVALID_OPTION" });
  await expect(start({ reask: true })).rejects.toThrow(invalid);
  await expect(start({ check: () => null, reask: "yes" as never })).rejects.toThrow(invalid);
});

test.each([
  [false, [1, 3, 3]],
  [true, [1, 3, 1]],
])(
  "a line that an account runs itself has the turns, too; refused for them (%s) it drops them",
  async (refuses, counts) => {
    const time = virtualClock(START);
    const runner = new SimRunner({ time, lineMs: () => 1_000 });
    const store = memoryStore();
    const plain = runner.account();
    const sent: JsonObject[] = [];
    const account: Account = {
      ...plain,
      async *execute(lines, call, name) {
        const kept = async function* (): AsyncGenerator<string> {
          for await (const line of lines) {
            sent.push((JSON.parse(line) as { body: JsonObject }).body);
            yield line;
          }
        };
        for await (const line of plain.execute?.(kept(), call, name) ?? []) {
          const isRefused = refuses && ((sent.at(-1)?.messages ?? []) as JsonObject[]).length > 1;
          const { status: statusCode, body } = isRefused ? tooLong : seven;
          yield { ...line, response: { statusCode, body } };
        }
      },
    };
    const dispatcher = createDispatcher({
      ...{ store, accounts: [account], clock: time, random: seeded(1), onError: () => {} },
      ...{ thresholds: { maxAgeMs: 0 }, retry: { backoffMs: 1_000, attempts: 3 }, check: () => WHY, reask: true },
    });
    onTestFinished(() => dispatcher.stop());
    await dispatcher.start();
    await dispatcher.enqueue(ask("a"));
    const result = dispatcher.result("a");
    await time.advance(30 * 60_000);
    expect(await result).toMatchObject({ status: "failed", attempts: 3 });
    expect(sent.map(({ messages }) => (messages as JsonObject[]).length)).toEqual(counts);
  },
);
