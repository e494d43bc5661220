// Requests and options that enqueue and createDispatcher refuse with a clear error, storing
// nothing.

import { describe, expect, test } from "vitest";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import type { BatchLine, DispatchRequest } from "../../../../src/dispatch/contract/types.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { anthropicCapabilities } from "../../../../src/dispatch/providers/anthropic/capabilities.ts";
import { bedrockCapabilities } from "../../../../src/dispatch/providers/bedrock/capabilities.ts";
import { geminiCapabilities } from "../../../../src/dispatch/providers/gemini/capabilities.ts";
import { mistralCapabilities } from "../../../../src/dispatch/providers/mistral/capabilities.ts";
import { vertexCapabilities } from "../../../../src/dispatch/providers/vertex/capabilities.ts";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { SIM_LIMITS, SimProvider } from "../../support/simulation/sim-provider.ts";
import { ask, world } from "../../support/world.ts";

const here = world();
const sim = new SimProvider({ time: here.time });
const messages = [{ role: "user", content: "hello" }];
const line: BatchLine = { custom_id: "l", method: "POST", url: "/v1/chat/completions", body: { model: "m", messages } };

function dispatcherOf(options: Partial<DispatcherOptions> = {}) {
  const store = memoryStore();
  return { store, dispatcher: createDispatcher({ store, accounts: [sim.account()], ...options }) };
}

describe("a request is refused, and nothing of it stored,", () => {
  const circle: Record<string, unknown> = { model: "m", messages };
  circle.self = circle;
  const lost = (place: string, what: string) => ["INVALID_REQUEST", `\`${place}\` is ${what}.`] as const;
  test.each([
    ["without a body", {}, "INVALID_REQUEST", "`body`"],
    ["with a body that is text", { body: "{}" }, "INVALID_REQUEST", "`body`"],
    ["with a body that is no JSON", { body: circle }, "INVALID_REQUEST", "JSON"],
    ["with a body without JSON", { body: { model: "m", messages, toJSON() {} } }, "INVALID_REQUEST", "JSON"],
    [
      "with a number that is none",
      { body: { model: "m", messages, temperature: Number.NaN } },
      ...lost("temperature", "NaN"),
    ],
    ["with a number without an end", { body: { model: "m", messages, seed: -1 / 0 } }, ...lost("seed", "-Infinity")],
    [
      "with a gap in a list",
      { body: { model: "m", messages: [...messages, undefined] } },
      ...lost("messages[1]", "undefined"),
    ],
    ["with a function in a list", { body: { model: "m", input: [() => "a"] } }, ...lost("input[0]", "a function")],
    ["with a function", { body: { model: "m", messages, user: () => "a" } }, ...lost("user", "a function")],
    [
      "with a date that is none",
      { body: { model: "m", messages, user: new Date(Number.NaN) } },
      ...lost("user", "an invalid Date"),
    ],
    [
      "with a map",
      { body: { model: "m", messages: [{ role: "user", content: new Map([["a", "b"]]) }] } },
      ...lost("messages[0].content", "a Map"),
    ],
    ["with a field that is not known", { ...ask("a"), priorty: 1 }, "INVALID_REQUEST", "priorty"],
    ["with an empty id", { ...ask("a"), id: "" }, "INVALID_REQUEST", "`id`"],
    ["with a long id", { ...ask("a"), id: "x".repeat(257) }, "INVALID_REQUEST", "256"],
    ["with half a priority", { ...ask("a"), priority: 0.5 }, "INVALID_REQUEST", "`priority`"],
    ["with a deadline that is no time", { ...ask("a"), deadlineAt: Number.NaN }, "INVALID_REQUEST", "`deadlineAt`"],
    ["with a deadline in nanoseconds", { ...ask("a"), deadlineAt: 1.8e18 }, "INVALID_REQUEST", "`deadlineAt`"],
    ["with a deadline after the last Date", { ...ask("a"), deadlineAt: 8.64e15 + 1 }, "INVALID_REQUEST", "275760"],
    ["with a NUL in its id", { ...ask("a"), id: "a\0b" }, "INVALID_REQUEST", "`id` must not have a NUL"],
    ["with half a character in its id", { ...ask("a"), id: "a\ud83d" }, "INVALID_REQUEST", "`id` must be Unicode"],
    ["with a NUL in its tenant", { ...ask("a"), tenant: "\0" }, "INVALID_REQUEST", "`tenant` must not have a NUL"],
    ["with half a character in its tenant", { ...ask("a"), tenant: "\udc00" }, "INVALID_REQUEST", "`tenant`"],
    ["with a NUL in its model", { body: { model: "m\0", messages } }, "INVALID_REQUEST", "model"],
    ["as a line with a NUL in its id", { ...line, custom_id: "\0" }, "INVALID_REQUEST", "NUL"],
    ["with a tenant that is no text", { ...ask("a"), tenant: 4 }, "INVALID_REQUEST", "`tenant`"],
    ["with a tenant that is too long", { ...ask("a"), tenant: "t".repeat(257) }, "INVALID_REQUEST", "at most 256"],
    ["with a job that is too long", { ...ask("a"), job: "j".repeat(257) }, "INVALID_REQUEST", "got 257"],
    ["with a model that is too long", { body: { model: "m".repeat(257), input: "a" } }, "INVALID_REQUEST", "model"],
    ["with metadata that is no text", { ...ask("a"), metadata: { a: 1 } }, "INVALID_REQUEST", "`metadata`"],
    ["for an unknown endpoint", { ...ask("a"), endpoint: "/v1/images" }, "UNKNOWN_ENDPOINT", "/v1/images"],
    ["that says not what it is for", { body: { model: "m" } }, "UNKNOWN_ENDPOINT", "endpoint"],
    ["without a model", { body: { messages } }, "MISSING_MODEL", "model"],
    ["as a line without a model", { ...line, body: { messages } }, "MISSING_MODEL", "a batch line does not get"],
    ["with what the provider forbids", { body: { model: "m", messages, stream: true } }, "INVALID_REQUEST", "stream"],
    ["over the bytes of a batch", ask("x".repeat(2_000), { id: "long" }), "REQUEST_TOO_LARGE", "bytes"],
    ["over the tokens of a batch", ask("x".repeat(900), { id: "long" }), "REQUEST_TOO_LARGE", "tokens"],
    ["over 16 KB of metadata", { ...ask("a"), metadata: { a: "ä".repeat(8_189) } }, "REQUEST_TOO_LARGE", "`metadata`"],
    ["as a line that is no POST", { ...line, method: "GET" }, "INVALID_REQUEST", "POST"],
    ["as a line for an unknown address", { ...line, url: "/v2" }, "UNKNOWN_ENDPOINT", "/v2"],
    ["as a line with more in it", { ...line, priority: 1 }, "INVALID_REQUEST", "priority"],
  ])("%s", async (_name, request, code, words) => {
    const { store, dispatcher } = dispatcherOf({ thresholds: { maxBytes: 1_500, maxTokens: 200 } });
    const given = request as unknown as DispatchRequest;
    const refusal = expect.objectContaining({ code, message: expect.stringContaining(words) });
    await expect(dispatcher.enqueue(given)).rejects.toEqual(refusal);
    await expect(dispatcher.enqueueMany([ask("good"), given])).rejects.toEqual(refusal);
    expect((await store.probe(10, 0)).lanes).toEqual([]);
  });

  test("with a default that is no JSON", async () => {
    const { dispatcher } = dispatcherOf({ requestDefaults: { temperature: Number.NaN } });
    await expect(dispatcher.enqueue(ask("a"))).rejects.toThrow("`temperature` is NaN");
  });

  test("but not for words and values that JSON has", async () => {
    const { store, dispatcher } = dispatcherOf();
    const odd = {
      stop: null,
      seed: -0,
      user: undefined,
      at: new Date(0),
      things: [{}, { of: "null" }],
      bare: Object.create(null),
    };
    const body = { model: "m", messages, ...odd } as unknown as BatchLine["body"];
    await dispatcher.enqueue({ id: "a", body });
    const [row] = await store.requests({ ids: ["a"], bodies: true });
    expect(row?.body).toBe(JSON.stringify(body));
  });

  test("when no account serves its model", async () => {
    const { dispatcher } = dispatcherOf({ accounts: [sim.account({}, { models: ["n"] })] });
    await expect(dispatcher.enqueue(ask("a"))).rejects.toMatchObject({
      code: "NO_ACCOUNT",
      message: expect.stringContaining('serves the model "m" at /v1/chat/completions. Their `models` there are n.'),
    });
  });

  test("when one of its accounts could never take it", async () => {
    const limits = { ...SIM_LIMITS, maxEnqueuedTokens: 50 };
    const accounts = [sim.account(), sim.account({ limits }, { name: "small" })];
    const { dispatcher } = dispatcherOf({ accounts });
    await expect(dispatcher.enqueue(ask("x".repeat(400), { id: "long" }))).rejects.toMatchObject({
      code: "REQUEST_TOO_LARGE",
    });
  });
});

describe("a request is stored", () => {
  test("with 16 KB of metadata", async () => {
    const { store, dispatcher } = dispatcherOf({});
    const metadata = { a: "ä".repeat(8_188) };
    await dispatcher.enqueue({ ...ask("a", { id: "a" }), metadata });
    const [row] = await store.requests({ ids: ["a"], bodies: true });
    expect(JSON.parse(row?.metadata ?? "")).toEqual(metadata);
  });

  test("with the defaults under its body, and an id of its own where it has none", async () => {
    const { store, dispatcher } = dispatcherOf({ requestDefaults: { model: "d", temperature: 0 } });
    const { id } = await dispatcher.enqueue({ body: { messages, temperature: 1 } });
    const [row] = await store.requests({ ids: [id], bodies: true });
    expect(id).toHaveLength(26);
    expect(JSON.parse(row?.body ?? "")).toEqual({ model: "d", temperature: 1, messages });
  });

  test("with an image of megabytes as data, which counts as an image and not as text", async () => {
    const limits = { ...SIM_LIMITS, maxBytes: 200_000_000, maxEnqueuedTokens: 90_000 };
    const { store, dispatcher } = dispatcherOf({ accounts: [sim.account({ limits })] });
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(4_000_000)}` } };
    await dispatcher.enqueue({ id: "a", body: { model: "m", messages: [{ role: "user", content: [image] }] } });
    expect(await store.requests({ ids: ["a"] })).toMatchObject([{ tokens: 1_604 }]);
  });

  test("as it is where it is a full line", async () => {
    const { store, dispatcher } = dispatcherOf({ requestDefaults: { temperature: 0 } });
    expect(await dispatcher.enqueueMany([line])).toEqual([{ id: "l", existing: false }]);
    const [row] = await store.requests({ ids: ["l"], bodies: true });
    expect(JSON.parse(row?.body ?? "")).toEqual(line.body);
  });

  test.each([
    ["anthropic", anthropicCapabilities, "/v1/messages"],
    ["bedrock", bedrockCapabilities, "/v1/messages"],
    ["bedrock", bedrockCapabilities, "/model/invoke"],
    ["bedrock", bedrockCapabilities, "/model/converse"],
    ["vertex", vertexCapabilities, "/v1/messages"],
    ["vertex", vertexCapabilities, "/v1beta/generateContent"],
    ["gemini", geminiCapabilities, "/v1beta/generateContent"],
    ["gemini", geminiCapabilities, "/v1beta/embedContent"],
    ["mistral", mistralCapabilities, "/v1/conversations"],
  ])("with no default but the model where its body is in %s's own form", async (_name, capabilities, endpoint) => {
    const { endpoints, nativeEndpoints = [] } = capabilities;
    const accounts = [sim.account(), sim.account({ endpoints, nativeEndpoints }, { name: "native" })];
    const requestDefaults = { model: "d", temperature: 0, max_completion_tokens: 9 };
    const { store, dispatcher } = dispatcherOf({ accounts, requestDefaults });
    const body = { max_tokens: 5, messages };
    await dispatcher.enqueue({ id: "own", endpoint, body });
    await dispatcher.enqueue({ id: "chat", body });
    const [own, chat] = await store.requests({ ids: ["own", "chat"], bodies: true });
    expect(JSON.parse(own?.body ?? "")).toEqual({ model: "d", ...body });
    expect(JSON.parse(chat?.body ?? "")).toEqual({ ...requestDefaults, ...body });
    expect(await dispatcher.estimate([{ endpoint, body: { messages } }])).toMatchObject({ requests: 1 });
  });

  test("as the same one when only the defaults have changed since", async () => {
    const { store, dispatcher } = dispatcherOf({ requestDefaults: { temperature: 0 } });
    await dispatcher.enqueue(ask("a"));
    const later = createDispatcher({ store, accounts: [sim.account()], requestDefaults: { temperature: 1 } });
    expect(await later.enqueue(ask("a"))).toEqual({ id: "a", existing: true });
  });
});

describe("among requests of other models and endpoints", () => {
  const limits = { ...SIM_LIMITS, maxEnqueuedTokens: 50 };
  const accounts = [sim.account({}, { models: ["m"] }), sim.account({ limits }, { name: "small", models: ["n"] })];
  const to = (model: string, content: string): DispatchRequest => ({
    id: `${model} ${content.slice(0, 9)}`,
    body: { model, messages: [{ role: "user", content }] },
  });
  const text = "x".repeat(400);

  test("each request is stored in its own lane", async () => {
    const { store, dispatcher } = dispatcherOf({ accounts });
    const vector: DispatchRequest = { id: "v", body: { model: "m", input: "a" } };
    const requests = [to("m", "1"), to("m", text), to("n", "2"), vector, to("m", "3")];
    await dispatcher.enqueueMany(requests);
    const rows = await store.requests({ ids: requests.map(({ id }) => id as string) });
    const [m, n] = ["/v1/chat/completions  m", "/v1/chat/completions  n"];
    expect(rows.map(({ lane }) => lane)).toEqual([m, m, n, "/v1/embeddings  m", m]);
  });

  test.each([
    ["what is too large for its own model's account", to("n", text), "REQUEST_TOO_LARGE"],
    ["what names no model", { body: { messages } }, "MISSING_MODEL"],
    ["what names a model that nobody serves", to("o", "1"), "NO_ACCOUNT"],
  ])("%s is refused by its place, and nothing is stored", async (_name, wrong, code) => {
    const { store, dispatcher } = dispatcherOf({ accounts });
    await expect(dispatcher.enqueueMany([to("m", text), wrong])).rejects.toMatchObject({
      code,
      message: expect.stringContaining("requests[1]: "),
    });
    expect((await store.probe(10, 0)).lanes).toEqual([]);
  });
});

describe("createDispatcher refuses", () => {
  const account = sim.account();
  test.each([
    ["an option that it does not know", { leaseMS: 1 }, TypeError, "did you mean `leaseMs`"],
    ["a store without methods", { store: {} }, TypeError, "`store`"],
    ["no account", { accounts: [] }, RangeError, "at least one account"],
    ["accounts that are no list", { accounts: account }, TypeError, "`accounts`"],
    ["two accounts of one name", { accounts: [account, account] }, RangeError, "unique"],
    ["an account without methods", { accounts: [{ name: "x" }] }, TypeError, "`accounts[0]`"],
    ["a lease shorter than a call", { leaseMs: 60_000 }, RangeError, "`leaseMs`"],
    ["a threshold of nothing", { thresholds: { maxRequests: 0 } }, RangeError, "`thresholds.maxRequests`"],
    ["a threshold that it does not know", { thresholds: { maxAge: 1 } }, TypeError, "`thresholds.maxAgeMs`"],
    ["no tries", { retry: { attempts: 0 } }, RangeError, "`retry.attempts`"],
    ["a webhook that is no address", { webhook: { url: "nowhere", secret: "s" } }, RangeError, "`webhook.url`"],
    ["a webhook without a secret", { webhook: { url: "https://x.test", secret: "" } }, RangeError, "`webhook.secret`"],
    ["a callback that is no function", { onOutcome: true }, TypeError, "`onOutcome`"],
  ])("%s", (_name, options, kind, words) => {
    const make = () => dispatcherOf(options as unknown as Partial<DispatcherOptions>);
    expect(make).toThrow(kind);
    expect(make).toThrow(expect.objectContaining({ code: "INVALID_OPTION", message: expect.stringContaining(words) }));
  });
});
