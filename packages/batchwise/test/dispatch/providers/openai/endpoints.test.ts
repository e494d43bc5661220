// OpenAI's endpoints besides chat and embeddings, each through a whole dispatcher, the official
// client and real sockets: the answer and its token counts arrive.

import { createDispatcher, type Endpoint, type JsonObject, memoryStore } from "batchwise/dispatch";
import { type OpenAiAccountOptions, openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI, { AzureOpenAI } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openaiServices } from "../../../../src/dispatch/providers/openai/capabilities.ts";
import { checkBody } from "../../../../src/dispatch/providers/openai/check-body.ts";
import { tokensOf } from "../../../../src/dispatch/requests/estimate/body-tokens.ts";
import { mostOutputOf } from "../../../../src/dispatch/requests/estimate/output-limit.ts";

const fake = fakeProvider({ plan: { validateMs: 0, runMs: 0, finalizeMs: 0 } });
const azure = fakeProvider({ dialect: "azure", plan: { validateMs: 0, runMs: 0, finalizeMs: 0 } });
const servers: { close(): Promise<void> }[] = [];
let [url, azureUrl] = ["", ""];

beforeAll(async () => {
  const [one, other] = [await fake.listen(), await azure.listen()];
  servers.push(one, other);
  [url, azureUrl] = [one.url, other.url];
});
afterAll(async () => {
  for (const server of servers) await server.close();
});

const text = "Why is the sky blue?";
/** Endpoint, body, a part of the answer, and its usage. */
const cases: readonly (readonly [Endpoint, JsonObject, JsonObject, object | null])[] = [
  [
    "/v1/responses",
    { instructions: "Be brief.", input: [{ role: "user", content: text }] },
    { object: "response", output: [{ content: [{ type: "output_text", text: `echo: ${text}` }] }] },
    { inputTokens: 13, cachedTokens: 6, outputTokens: 7, reasoningTokens: 1, totalTokens: 20 },
  ],
  [
    "/v1/completions",
    { prompt: text, max_tokens: 10 },
    { object: "text_completion", choices: [{ text: `echo: ${text}` }] },
    { inputTokens: 6, cachedTokens: 0, outputTokens: 7, reasoningTokens: 0, totalTokens: 13 },
  ],
  ["/v1/moderations", { input: [text, "bad"] }, { results: [{ flagged: false }, { flagged: true }] }, null],
  [
    "/v1/images/generations",
    { prompt: text, size: "1024x1024" },
    { data: [{ b64_json: expect.any(String) as unknown as string }] },
    { inputTokens: 6, cachedTokens: 0, outputTokens: 272, reasoningTokens: 0, totalTokens: 278 },
  ],
  [
    "/v1/images/edits",
    { prompt: text, images: [{ file_id: "file-1" }, { image_url: "https://example.com/a.png" }], mask: null },
    { data: [{ b64_json: expect.any(String) as unknown as string }] },
    { inputTokens: 6, cachedTokens: 0, outputTokens: 272, reasoningTokens: 0, totalTokens: 278 },
  ],
  [
    "/v1/videos",
    { prompt: text, seconds: "8", input_reference: { file_id: "file-1" } },
    { object: "video", status: "completed", seconds: "8" },
    null,
  ],
];

test("OpenAI's record has each of them", () => {
  const { endpoints } = openaiServices.openai.capabilities;
  expect(endpoints).toEqual(["/v1/chat/completions", "/v1/embeddings", ...cases.map(([endpoint]) => endpoint)]);
});

const OPENAI = (): OpenAiAccountOptions => ({ client: new OpenAI({ apiKey: "key", baseURL: `${url}/v1` }) });
/** Chats are on there; the option turns on the others. */
const AZURE = (): OpenAiAccountOptions => ({
  client: new AzureOpenAI({ apiKey: "key", endpoint: azureUrl, apiVersion: "2025-04-01-preview" }),
  service: "azure",
  endpoints: cases.map(([endpoint]) => endpoint),
});

test.each([
  ["OpenAI", OPENAI],
  ["Azure", AZURE],
])("at %s each ends with its own answer and its own tokens", async (_service, options) => {
  const account = openaiAccount({ ...options(), pollMs: 10 });
  const dispatcher = createDispatcher({ store: memoryStore(), accounts: [account], thresholds: { maxAgeMs: 1 } });
  await dispatcher.start();
  await dispatcher.enqueueMany(
    cases.map(([endpoint, body], index) => ({ id: `r${index}`, endpoint, body: { model: "m", ...body } })),
  );
  for (const [index, [endpoint, , answer, usage]] of cases.entries()) {
    const outcome = await dispatcher.result(`r${index}`);
    expect(outcome, endpoint).toMatchObject({
      status: "succeeded",
      response: { statusCode: 200, body: answer },
      usage,
    });
  }
  const batches = await dispatcher.batches();
  expect(batches.map(({ endpoint }) => endpoint).sort()).toEqual(cases.map(([endpoint]) => endpoint).sort());
  await dispatcher.stop();
});

describe("a body that batches cannot have is refused", () => {
  const { maxInputs, capabilities } = openaiServices.openai;
  const check = (endpoint: Endpoint, body: JsonObject): void =>
    checkBody({ endpoints: capabilities.endpoints, maxInputs }, endpoint, body);

  test.each<[Endpoint, JsonObject, string]>([
    ["/v1/responses", { input: "a", stream: true }, "`stream`"],
    ["/v1/responses", { input: "a", background: true }, "`background`"],
    ["/v1/responses", {}, "`input`"],
    ["/v1/responses", { prompt: { id: "p" }, input: "" }, "`input`"],
    ["/v1/completions", {}, "`prompt`"],
    ["/v1/completions", { prompt: [] }, "`prompt`"],
    ["/v1/moderations", { input: "" }, "`input`"],
    ["/v1/images/generations", { prompt: "a", stream: true }, "`stream`"],
    ["/v1/images/generations", {}, "`prompt`"],
    ["/v1/images/edits", { prompt: "a" }, "`images`"],
    ["/v1/images/edits", { prompt: "a", images: [{ file: "a" }] }, "`images`"],
    ["/v1/images/edits", { prompt: "a", images: [{ file_id: "f" }], mask: "data:" }, "`mask`"],
    ["/v1/images/edits", { images: [{ file_id: "f" }] }, "`prompt`"],
    ["/v1/videos", { input_reference: { file_id: "f" } }, "`prompt`"],
    ["/v1/videos", { prompt: "a", input_reference: "data:" }, "`input_reference`"],
    ["/v1/images/variations", { prompt: "a" }, "not served here"],
  ])("%s %j", (endpoint, body, words) => {
    expect(() => check(endpoint, body)).toThrow(words);
  });

  test("but not a response to a stored prompt", () => {
    check("/v1/responses", { prompt: { id: "p" } });
    for (const [endpoint, body] of cases) check(endpoint, body);
  });
});

describe("estimates", () => {
  const long = "the quick brown fox jumps over the lazy dog ".repeat(200);
  const alone = tokensOf({ input: long }, true);

  test.each<[string, JsonObject]>([
    ["a response", { input: [{ role: "user", content: [{ type: "input_text", text: long }] }] }],
    ["a completion", { prompt: long }],
    ["a moderation", { input: [{ type: "text", text: long }] }],
    ["an image", { prompt: long, size: "1024x1024" }],
  ])("of %s are those of its text", (_what, body) => {
    const tokens = tokensOf({ model: "m", ...body }, true);
    expect(tokens).toBeGreaterThanOrEqual(alone);
    expect(tokens).toBeLessThan(alone + 40);
  });

  test("of a response do not read images as text", () => {
    const image_url = `data:image/png;base64,${"A".repeat(400_000)}`;
    const input = [{ role: "user", content: [{ type: "input_image", image_url }] }];
    expect(tokensOf({ model: "m", input }, true)).toBeLessThan(10_000);
  });

  test("of edits and videos do not read images as text", () => {
    const image_url = `data:image/png;base64,${"A".repeat(400_000)}`;
    expect(tokensOf({ prompt: "a", images: [{ image_url }], mask: { image_url } }, true)).toBeLessThan(4_000);
    expect(tokensOf({ prompt: "a", input_reference: { image_url } }, true)).toBeLessThan(4_000);
  });

  test("of the most that is written follow each endpoint's own words", () => {
    expect(mostOutputOf("/v1/responses", { max_output_tokens: 5 })).toBe(5);
    expect(mostOutputOf("/v1/completions", { max_tokens: 5, n: 2, prompt: ["a", "b", "c"] })).toBe(30);
    expect(mostOutputOf("/v1/moderations", {})).toBe(0);
    expect(mostOutputOf("/v1/chat/completions", { max_tokens: -1 })).toBeNull();
    expect(mostOutputOf("/v1/chat/completions", { max_tokens: 5, n: 0 })).toBeNull();
    expect(mostOutputOf("/v1/images/generations", { n: 2 })).toBeNull();
  });
});
