// Estimates of requests before any is sent.

import Anthropic from "@anthropic-ai/sdk";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import { fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Estimate } from "../../../../src/dispatch/contract/cost.ts";
import type { DispatcherOptions } from "../../../../src/dispatch/contract/dispatcher-options.ts";
import type { DispatchRequest } from "../../../../src/dispatch/contract/types.ts";
import { createDispatcher } from "../../../../src/dispatch/dispatcher.ts";
import { drive } from "../../support/drive.ts";
import { isAtRest, world } from "../../support/world.ts";

const here = world();
const fake = fakeProvider({ clock: here.time });
const client = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });
const claude = new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: fake.fetch });

/** A request of 100 characters: 25 tokens and 4 for the message. */
const ask = (model: string, more: object = {}): DispatchRequest => ({
  body: { model, messages: [{ role: "user", content: "x".repeat(100) }], ...more },
});
const dispatcherOf = (options: Partial<DispatcherOptions> = {}) =>
  createDispatcher({ store: here.store, accounts: [openaiAccount({ client })], ...options });
const many = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);

test("tokens, bytes, batches and price of an array, by model and in sum; nothing is stored or sent", async () => {
  const dispatcher = dispatcherOf({ thresholds: { maxRequests: 4 } });
  const embed = { body: { model: "text-embedding-3-small", input: "x".repeat(400) } };
  const estimate = await dispatcher.estimate([
    ...many(10, ask("gpt-4o-mini", { max_tokens: 50 })),
    ...many(2, ask("gpt-4.1", { max_completion_tokens: 100, n: 2 })),
    embed,
  ]);
  expect(estimate).toMatchObject({ requests: 13, tokens: 10 * 29 + 2 * 29 + 100, batches: 3 + 1 + 1 });
  expect(estimate.mostOutputTokens).toBe(10 * 50 + 2 * 200);
  expect(estimate.models.map(({ model, batches }) => [model, batches])).toEqual([
    ["gpt-4o-mini", 3],
    ["gpt-4.1", 1],
    ["text-embedding-3-small", 1],
  ]);
  const input = (290 * 0.15 + 58 * 2 + 100 * 0.02) / 2 / 1e6;
  expect(estimate.price?.input).toBeCloseTo(input, 12);
  expect(estimate.price?.most).toBeCloseTo(input + (500 * 0.6 + 400 * 8) / 2 / 1e6, 12);
  expect(estimate.unknownModels).toEqual([]);
  const probe = await here.store.probe(1, here.time.now());
  expect([probe.lanes, fake.calls("files.create")]).toEqual([[], 0]);
});

test("its tokens, bytes and batches are those that are sent afterwards", async () => {
  const { time, store, start } = world();
  const strict = fakeProvider({ clock: time });
  const own = new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: strict.fetch });
  const options = { accounts: [openaiAccount({ client: own, limits: { maxTokens: 1_000 } })] };
  const dispatcher = await start({ ...options, thresholds: { maxBytes: 9_000 } });
  const requests = Array.from({ length: 200 }, (_, index) => ({
    id: `r${index}`,
    body: { model: "gpt-4o-mini", messages: [{ role: "user", content: "word ".repeat(1 + ((index * 7) % 60)) }] },
  }));
  const { tokens, bytes, batches } = await dispatcher.estimate(requests);
  await dispatcher.enqueueMany(requests);
  dispatcher.flush();
  await drive(time, strict, () => isAtRest(store, time.now()));
  const sent = await dispatcher.batches();
  expect(sent.length).toBe(batches);
  expect(sent.reduce((sum, batch) => sum + batch.tokens, 0)).toBe(tokens);
  expect(sent.reduce((sum, batch) => sum + batch.bytes, 0)).toBe(bytes);
});

describe("the price", () => {
  const priceOf = async (requests: readonly DispatchRequest[], options: Partial<DispatcherOptions> = {}) => {
    const { price, unknownModels } = await dispatcherOf(options).estimate(requests);
    return { price, unknownModels };
  };

  test("is null where a model has none, and the model is named once", async () => {
    const requests = [ask("gpt-4o-mini"), ask("mine"), ask("mine"), ask("yours")];
    expect(await priceOf(requests)).toEqual({ price: null, unknownModels: ["mine", "yours"] });
  });

  test("is the user's, where there is a table of prices", async () => {
    const prices = { mine: { input: 1_000_000, output: 2_000_000, batchDiscount: 0 } };
    const { price } = await priceOf([ask("mine", { max_tokens: 3 })], { prices });
    expect(price).toEqual({ input: 29, most: 35 });
    expect(await priceOf([ask("gpt-4o-mini")], { prices })).toEqual({ price: null, unknownModels: ["gpt-4o-mini"] });
  });

  test("has no upper end where a request may write without one", async () => {
    const { price } = await priceOf([ask("gpt-4o-mini"), ask("gpt-4o-mini", { max_tokens: 3 })]);
    expect([price?.input !== undefined, price?.most]).toEqual([true, null]);
  });

  test("goes by the request's defaults too, but not for batch lines", async () => {
    const requestDefaults = { model: "gpt-4o-mini", max_tokens: 10 };
    const dispatcher = dispatcherOf({ requestDefaults });
    const messages = [{ role: "user", content: "a" }];
    const line = { custom_id: "l", method: "POST", url: "/v1/chat/completions", body: { model: "gpt-4.1", messages } };
    const { models } = await dispatcher.estimate([{ body: { messages } }, line as never]);
    expect(models.map(({ model, mostOutputTokens }) => [model, mostOutputTokens])).toEqual([
      ["gpt-4o-mini", 10],
      ["gpt-4.1", null],
    ]);
  });
});

test("a known limit on enqueued tokens makes more batches, because each takes half of it", async () => {
  const accounts = [openaiAccount({ client, limits: { maxEnqueuedTokens: 200 } })];
  expect((await dispatcherOf({ accounts }).estimate(many(10, ask("m")))).batches).toBe(4);
});

test("the lines are as long as the service writes them", async () => {
  const both = [openaiAccount({ client }), anthropicAccount({ client: claude, models: ["claude-haiku-4-5"] })];
  const request = ask("claude-haiku-4-5", { max_tokens: 5 });
  const one = await dispatcherOf({ accounts: both }).estimate([request]);
  const lines = both.map((account) =>
    account.encodeLine({
      customId: "0".repeat(20),
      endpoint: "/v1/chat/completions",
      body: JSON.stringify(request.body),
    }),
  );
  expect(one.bytes).toBe(Math.max(...lines.map((line) => line.length)));
});

describe("requests may come from", () => {
  function* some(count: number) {
    for (let index = 0; index < count; index += 1) yield ask("gpt-4o-mini");
  }
  async function* later(count: number) {
    yield* some(count);
  }
  test.each([
    ["a generator", () => some(3)],
    ["an asynchronous one", () => later(3)],
    ["a set", () => new Set(some(3))],
  ])("%s", async (_name, make) => {
    expect(await dispatcherOf().estimate(make())).toMatchObject({ requests: 3, batches: 1 });
  });

  test("nowhere: then all is nothing", async () => {
    expect(await dispatcherOf().estimate([])).toEqual({
      ...{ requests: 0, tokens: 0, bytes: 0, batches: 0, mostOutputTokens: 0, price: { input: 0, most: 0 } },
      ...{ models: [], unknownModels: [] },
    } satisfies Estimate);
  });

  test.each([
    ["a request alone", ask("m")],
    ["a text", "[]"],
    ["nothing at all", undefined],
  ])("but not: %s", async (_name, given) => {
    await expect(dispatcherOf().estimate(given as never)).rejects.toMatchObject({
      code: "INVALID_REQUEST",
      message: "Expected an array or an iterable of requests.",
    });
  });

  test("a source that fails, whose error comes through", async () => {
    async function* broken() {
      yield ask("m");
      throw new Error("The file ends early.");
    }
    await expect(dispatcherOf().estimate(broken())).rejects.toThrow("The file ends early.");
  });
});

test("a request that would be refused is named by its place", async () => {
  await expect(dispatcherOf().estimate([ask("m"), { body: { model: "m" } }])).rejects.toMatchObject({
    code: "UNKNOWN_ENDPOINT",
    message: expect.stringMatching(/^requests\[1\]: /),
  });
});

test("a long iterable does not block other work", async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 0);
  function* long() {
    for (let index = 0; index < 50_000; index += 1) yield ask("gpt-4o-mini");
  }
  const { requests } = await dispatcherOf().estimate(long());
  clearInterval(timer);
  expect(requests).toBe(50_000);
  expect(turns).toBeGreaterThan(10);
});
