// `batchFetch` in the official clients, as users write them, against the strict fake provider in
// virtual time.

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { batchFetch, type PendingCall } from "batchwise/dispatch";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { localAccount } from "batchwise/dispatch/local";
import { openaiAccount } from "batchwise/dispatch/openai";
import OpenAI from "openai";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { drive } from "../../support/drive.ts";
import { chat, clientOf, questions, Rig } from "../../support/fetch-rig.ts";
import { foreignRequest } from "../../support/foreign-headers.ts";
import { START } from "../../support/world.ts";

const HOUR = 3_600_000;

describe("calls of openai", () => {
  test("share a batch, come back to their own callers, and are not sent again by a second run", async () => {
    const rig = new Rig();
    const dispatcher = await rig.start();
    const client = clientOf(batchFetch(dispatcher));
    const answers = await rig.answers(questions(300).map((text) => chat(client, text)));
    expect(answers.map(({ choices }) => choices[0]?.message.content)).toEqual(
      questions(300).map((text) => expect.stringContaining(text)),
    );
    expect(rig.time.now() - START).toBeLessThan(HOUR);
    expect(rig.fake.calls("batches.create")).toBe(1);
    const again = clientOf(batchFetch(dispatcher));
    const repeated = await rig.answers(questions(300).map((text) => chat(again, text)));
    expect(repeated).toEqual(answers);
    expect(rig.fake.calls("batches.create")).toBe(1);
    expect(rig.told).toEqual([]);
  });

  test("for responses and embeddings do, too; floats come as the base64 that the client requests", async () => {
    const rig = new Rig();
    const client = clientOf(batchFetch(await rig.start()));
    const [response, embedding, floats] = await rig.answers([
      client.responses.create({ model: "m", input: "Say yes." }),
      client.embeddings.create({ model: "m", input: ["a", "b"] }),
      client.embeddings.create({ model: "m", input: ["a", "b"], encoding_format: "float" }),
    ] as Promise<unknown>[]);
    expect((response as OpenAI.Responses.Response).output_text).toContain("Say yes.");
    const vectors = (embedding as OpenAI.CreateEmbeddingResponse).data.map((row) => row.embedding);
    const wanted = (floats as OpenAI.CreateEmbeddingResponse).data.map((row) => row.embedding);
    expect(vectors).toEqual(wanted.map((vector) => vector.map(Math.fround)));
    expect(rig.fake.runs().size).toBe(2);
  });

  test("for other paths go out as they are, without our headers", async () => {
    const rig = new Rig();
    const seen: { url: string; headers: Headers; body: unknown }[] = [];
    const fetch: typeof globalThis.fetch = async (input, init) => {
      seen.push({ url: String(input), headers: new Headers(init?.headers), body: init?.body });
      return Response.json({ object: "list", data: [] });
    };
    const door = batchFetch(await rig.start(), { fetch });
    await clientOf(door).models.list({ headers: { "x-batchwise-priority": "3" } });
    const body = new ReadableStream();
    await door("http://elsewhere.test/v1/threads/t/messages", { method: "POST", body, duplex: "half" } as RequestInit);
    expect(seen.map(({ url }) => new URL(url).pathname)).toEqual(["/v1/models", "/v1/threads/t/messages"]);
    expect([...(seen[0]?.headers.keys() ?? [])].filter((name) => name.startsWith("x-batchwise"))).toEqual([]);
    expect(seen[1]?.body).toBe(body);
  });

  test("are recognised at the addresses of Azure, Groq and Gemini, and with all kinds of bodies", async () => {
    const rig = new Rig();
    const door = batchFetch(await rig.start());
    const text = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi." }] });
    const paths = ["openai/v1", "v1beta/openai", "openai/deployments/m", "inference", "models", "api/v3", "."];
    const bodies = [text, new TextEncoder().encode(text), new Blob([text]).stream(), text, text, text, text];
    const calls = paths.map((path, index) => {
      const init = { method: "POST", body: bodies[index], duplex: "half" } as RequestInit;
      return door(new URL(`http://x.test/${path}/chat/completions/?api-version=1`), init);
    });
    const request = new Request("http://x.test/v1/chat/completions", { method: "POST", body: text });
    const answers = await rig.answers([...calls, door(request)]);
    expect(answers.map(({ status }) => status)).toEqual([...paths.map(() => 200), 200]);
    expect(request.bodyUsed).toBe(false);
    expect(rig.fake.runs().size).toBe(1);
  });
});

test("a request or a form of another implementation of fetch is known as one", async () => {
  const rig = new Rig();
  const passed: unknown[] = [];
  const fetch: typeof globalThis.fetch = async (input) => {
    passed.push(input);
    return Response.json({});
  };
  const door = batchFetch(await rig.start(), { fetch });
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi." }] });
  const url = "http://x.test/v1/chat/completions";
  const request = foreignRequest(new Request(url, { method: "POST", body, headers: { "x-batchwise-job": "j" } }));
  const [answer] = await rig.answers([door(request)]);
  expect([answer?.status, passed]).toEqual([200, []]);
  const form = { [Symbol.toStringTag]: "FormData" } as FormData;
  await door(url, { method: "POST", body: form });
  expect(passed).toEqual([url]);
});

describe("the id of a call", () => {
  test("does not depend on the order of the body's keys, and does on job, tenant, sample and nested values", async () => {
    const rig = new Rig();
    const dispatcher = await rig.start();
    const client = clientOf(batchFetch(dispatcher));
    const message = { role: "user", content: "Hi." } as const;
    const sample = (name: string) => chat(client, "Hi.", {}, { headers: { "x-batchwise-id": name } });
    await rig.answers([
      client.chat.completions.create({ model: "m", messages: [message], temperature: 0 }),
      client.chat.completions.create({ temperature: 0, messages: [message], model: "m" }),
      client.chat.completions.create({ temperature: 0, messages: [{ content: "Hi.", role: "user" }], model: "m" }),
      ...["one", "two", "two"].map(sample),
      chat(clientOf(batchFetch(dispatcher, { job: "night" })), "Hi."),
      chat(clientOf(batchFetch(dispatcher, { tenant: "a" })), "Hi."),
      chat(clientOf(batchFetch(dispatcher, { idOf: ({ body }) => String(body.model) })), "Hi."),
    ]);
    const { requests } = await dispatcher.requests({ limit: 100 });
    expect(requests).toHaveLength(7);
    expect(requests.filter(({ job, tenant }) => job === "night" || tenant === "a")).toHaveLength(2);
  });

  test.each([
    ["a promise", () => Promise.reject(new Error("Late."))],
    ["an object", () => ({ id: 1 })],
    ["NaN", () => Number.NaN],
  ])("that `idOf` gives as %s refuses the call: all calls would share it", async (_what, idOf) => {
    const rig = new Rig();
    const dispatcher = await rig.start();
    const [ended] = await rig.settled([chat(clientOf(batchFetch(dispatcher, { idOf: idOf as never })), "Hi.")]);
    expect(ended).toMatchObject({ reason: { status: 400, code: "invalid_id" } });
    expect((await dispatcher.requests({})).requests).toEqual([]);
  });

  test("counts a number of `idOf`, such as a row's, as another id than its text", async () => {
    const rig = new Rig();
    const dispatcher = await rig.start();
    const sample = (id: unknown) => chat(clientOf(batchFetch(dispatcher, { idOf: () => id as string })), "Hi.");
    await rig.answers([sample(1), sample(2), sample(2), sample("2")]);
    expect((await dispatcher.requests({})).requests).toHaveLength(3);
  });

  test("is that of the body with the dispatcher's defaults", async () => {
    const rig = new Rig();
    const dispatcher = await rig.start({ requestDefaults: { temperature: 0 } });
    const client = clientOf(batchFetch(dispatcher));
    await rig.answers([chat(client, "Hi."), chat(client, "Hi.", { temperature: 0 })]);
    expect((await dispatcher.requests({ bodies: true })).requests).toMatchObject([{ body: { temperature: 0 } }]);
  });
});

describe("a call that fails", () => {
  test.each([
    ["a model that no account takes", { model: "other" }, OpenAI.NotFoundError, /other.*The accounts are: openai/],
    ["a stream", { stream: true }, OpenAI.BadRequestError, /no stream/],
    ["a missing model", { model: "" }, OpenAI.BadRequestError, /400 The body of this call names no `model`/],
    ["a body that is wrong", { temperature: "hot" }, OpenAI.BadRequestError, /temperature/],
  ])("because of %s rejects with the client's own error, and reaches no server", async (_name, more, Kind, words) => {
    const rig = new Rig();
    const live: unknown[] = [];
    const fetch: typeof globalThis.fetch = async (input) => {
      live.push(input);
      return Response.json({});
    };
    const client = clientOf(batchFetch(await rig.start(), { fetch }));
    const [ended] = await rig.settled([chat(client, "Hi.", more)]);
    expect(ended).toMatchObject({ reason: expect.any(Kind) });
    expect(String((ended as PromiseRejectedResult).reason.message)).toMatch(words);
    expect(live).toEqual([]);
  });

  test("at the provider rejects likewise, at once when it is repeated, and goes again for a new batchFetch", async () => {
    let isBad = true;
    const refusal = { error: { message: "No.", type: "invalid_request_error", code: "content_filter" } };
    const choices = [{ index: 0, message: { role: "assistant", content: "Good." }, finish_reason: "stop" }];
    const answer = () => (isBad ? { status: 400, body: refusal } : { status: 200, body: { choices } });
    const rig = new Rig({ answer });
    const dispatcher = await rig.start();
    const client = clientOf(batchFetch(dispatcher));
    const [first] = await rig.settled([chat(client, "Bad?")]);
    expect(first).toMatchObject({ reason: expect.any(OpenAI.BadRequestError) });
    const [second] = await rig.settled([chat(client, "Bad?")]);
    expect(second).toMatchObject({ reason: { status: 400, code: "content_filter" } });
    expect(rig.fake.calls("batches.create")).toBe(1);
    isBad = false;
    const [again] = await rig.answers([chat(clientOf(batchFetch(dispatcher)), "Bad?")]);
    expect(again?.choices[0]?.message.content).toBe("Good.");
    expect(rig.fake.calls("batches.create")).toBe(2);
  });

  test.each(["constructor", "__proto__"])(
    "with the provider's code %s has the provider's status, or 502",
    async (code) => {
      const body = { error: { message: "No.", type: "invalid_request_error", code } };
      const rig = new Rig({ answer: () => ({ status: 418, body }) });
      const door = batchFetch(await rig.start({ retry: { attempts: 1 } }));
      const [ended] = await rig.settled([chat(clientOf(door), "Bad?")]);
      expect(ended).toMatchObject({ reason: { status: 418, code } });
      const { pathname } = new URL(`http://x.test/v1beta/models/g:${code}`);
      const live = batchFetch(await rig.start(), { fetch: async () => new Response("live") });
      expect(await (await live(`http://x.test${pathname}`, { method: "POST", body: "{}" })).text()).toBe("live");
    },
  );

  test("because it is too large, or a header is no number, has the status for it; a priority is kept", async () => {
    const rig = new Rig();
    const client = new OpenAI({ apiKey: "account", baseURL: "http://fake.test/v1", fetch: rig.fake.fetch });
    const dispatcher = await rig.start({ accounts: [openaiAccount({ client, limits: { maxBytes: 400 } })] });
    const caller = clientOf(batchFetch(dispatcher));
    const ended = await rig.settled([
      chat(caller, "x".repeat(500)),
      chat(caller, "Hi.", {}, { headers: { "x-batchwise-priority": "high" } }),
      chat(caller, "Ho.", {}, { headers: { "x-batchwise-priority": "7" } }),
    ]);
    expect(ended).toMatchObject([{ reason: { status: 413 } }, { reason: { status: 400 } }, { status: "fulfilled" }]);
    expect((await dispatcher.requests()).requests).toMatchObject([{ priority: 7 }]);
  });

  test("and is repeated by several callers at once, at a store over the network, gives all of them the new answer", async () => {
    let isBad = true;
    const refusal = { error: { message: "No.", type: "invalid_request_error", code: "content_filter" } };
    const choices = [{ index: 0, message: { role: "assistant", content: "Good." }, finish_reason: "stop" }];
    const rig = new Rig({
      answer: () => (isBad ? { status: 400, body: refusal } : { status: 200, body: { choices } }),
    });
    const dispatcher = await rig.start();
    await rig.settled([chat(clientOf(batchFetch(dispatcher)), "Bad?")]);
    isBad = false;
    const amend = rig.store.amend.bind(rig.store);
    vi.spyOn(rig.store, "amend").mockImplementation(async (...given) => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      return amend(...given);
    });
    const client = clientOf(batchFetch(dispatcher));
    const answers = await rig.answers(["Bad?", "Bad?", "Bad?"].map((text) => chat(client, text)));
    expect(answers.map(({ choices: [choice] }) => choice?.message.content)).toEqual(["Good.", "Good.", "Good."]);
    expect([...rig.fake.runs().values()]).toEqual([2]);
  });

  test("because its answer was dropped is sent as a new request", async () => {
    const rig = new Rig();
    const dispatcher = await rig.start();
    const client = clientOf(batchFetch(dispatcher));
    for (const times of [1, 2, 3]) {
      await rig.answers([chat(client, "Hi.")]);
      expect([...rig.fake.runs().values()]).toEqual([times]);
      await dispatcher.prune({ olderThanMs: 0 });
    }
  });

  test("after its deadline, or cancelled, has the status for it", async () => {
    const rig = new Rig();
    const dispatcher = await rig.start();
    const door = batchFetch(dispatcher, { flushAfterMs: Number.POSITIVE_INFINITY });
    const late = chat(clientOf(door), "Late?", {}, { headers: { "x-batchwise-deadline-ms": "0" } });
    const gone = chat(clientOf(door), "Gone?");
    await drive(rig.time, rig.fake, async () => (await dispatcher.requests()).requests.length === 2);
    const { requests } = await dispatcher.requests();
    const other = requests.find(({ deadlineAt }) => deadlineAt === null);
    await dispatcher.cancel(other?.id ?? "");
    const ended = await rig.settled([late, gone]);
    expect(ended.map((one) => (one as PromiseRejectedResult).reason.status)).toEqual([504, 499]);
  });
});

describe("a caller who aborts", () => {
  test("ends only its own call: the request continues, a repeat joins it, and it is reported once", async () => {
    const rig = new Rig();
    const pending: PendingCall[] = [];
    const dispatcher = await rig.start();
    const client = clientOf(batchFetch(dispatcher, { onPending: (call) => void pending.push(call) }));
    const leaving = new AbortController();
    const left = [
      chat(client, "Hi.", {}, { signal: leaving.signal }),
      chat(client, "Ho.", {}, { signal: leaving.signal }),
    ];
    await rig.time.advance(1_000);
    leaving.abort();
    expect(await Promise.allSettled(left)).toMatchObject([
      { reason: expect.any(OpenAI.APIUserAbortError) },
      { reason: expect.any(OpenAI.APIUserAbortError) },
    ]);
    await rig.answers([chat(client, "Hi.")]);
    expect(rig.fake.runs().size).toBe(2);
    expect([...rig.fake.runs().values()]).toEqual([1, 1]);
    expect(pending.map(({ state }) => state)).toEqual(["waiting", "waiting", "left", "left", "waiting", "ended"]);
    expect(pending[0]?.expectedAt).toBe(START + 24 * HOUR);
    expect(rig.told).toMatchObject([{ code: "CALLER_LEFT", message: expect.stringContaining("maxRetries: 0") }]);
  });

  test("does not wait for a store that hangs", async () => {
    const rig = new Rig();
    const client = clientOf(batchFetch(await rig.start()));
    let answer: (results: "stored"[]) => void = () => {};
    const answered = new Promise<"stored"[]>((resolve) => {
      answer = resolve;
    });
    const hanging = vi.spyOn(rig.store, "enqueue").mockReturnValue(answered);
    const leaving = new AbortController();
    const left = chat(client, "Hi.", {}, { signal: leaving.signal });
    await vi.waitFor(() => expect(hanging).toHaveBeenCalled());
    leaving.abort();
    await expect(left).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
    answer(["stored"]);
  });

  test("is foreseen where the client's timeout is short", async () => {
    const rig = new Rig();
    const dispatcher = await rig.start();
    const client = clientOf(batchFetch(dispatcher));
    await rig.answers(["Hi.", "Ho."].map((text) => chat(client, text, {}, { timeout: 600_000 })));
    expect(rig.told).toMatchObject([{ code: "SHORT_TIMEOUT", message: expect.stringContaining("600 s") }]);
    const another = clientOf(batchFetch(dispatcher));
    await rig.answers([chat(another, "Hu.", {}, { timeout: 300_000 })]);
    expect(rig.told).toMatchObject([{}, { message: expect.stringContaining("300 s") }]);
  });
});

test("a local account does not call the batchFetch that replaces the platform's fetch later", async () => {
  const rig = new Rig();
  const choices = [{ index: 0, message: { role: "assistant", content: "Local." }, finish_reason: "stop" }];
  const asked: unknown[] = [];
  vi.stubGlobal("fetch", async (input: unknown) => {
    asked.push(String(input));
    return Response.json({ choices });
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  const dispatcher = await rig.start({ accounts: [localAccount({ baseURL: "http://local.test/v1" })] });
  const door = batchFetch(dispatcher);
  vi.stubGlobal("fetch", door);
  const [answer] = await rig.answers([chat(clientOf(globalThis.fetch), "Hi.")]);
  expect(answer?.choices[0]?.message.content).toBe("Local.");
  expect(asked).toEqual(["http://local.test/v1/chat/completions"]);
});

test("clients of Anthropic and Gemini get answers and errors in their own forms", async () => {
  const rig = new Rig();
  const claude = new Anthropic({ apiKey: "account", baseURL: "http://fake.test", fetch: rig.fake.fetch });
  const gemini = new GoogleGenAI({
    apiKey: "account",
    httpOptions: { baseUrl: "http://fake.test", fetch: rig.fake.fetch },
  });
  const dispatcher = await rig.start({
    accounts: [
      anthropicAccount({ client: claude, models: ["claude"], betas: ["known-1"] }),
      geminiAccount({ client: gemini, models: ["gemini"] }),
    ],
  });
  const fetch = batchFetch(dispatcher);
  const anthropic = new Anthropic({ apiKey: "caller", fetch, maxRetries: 0, timeout: 172_800_000 });
  const google = new GoogleGenAI({ apiKey: "caller", httpOptions: { fetch } });
  const say = (model: string, headers: Record<string, string> = {}) =>
    anthropic.messages.create({ model, max_tokens: 20, messages: [{ role: "user", content: "Hi." }] }, { headers });
  const [message, withBeta, other, wrong, generated] = await rig.settled<unknown>([
    say("claude"),
    say("claude", { "anthropic-beta": "known-1" }),
    say("claude", { "anthropic-beta": "unknown-1" }),
    say("absent"),
    google.models.generateContent({ model: "gemini", contents: "Ho." }),
  ]);
  expect(message).toMatchObject({ value: { role: "assistant", content: [{ text: expect.stringContaining("Hi.") }] } });
  expect(withBeta?.status).toBe("fulfilled");
  expect(other).toMatchObject({ reason: expect.any(Anthropic.BadRequestError) });
  expect(wrong).toMatchObject({ reason: expect.any(Anthropic.NotFoundError) });
  expect(generated).toMatchObject({ value: { text: expect.stringContaining("Ho.") } });
});
