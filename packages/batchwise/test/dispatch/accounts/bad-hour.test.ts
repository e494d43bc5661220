// Hours in which a provider has no capacity, or fails each line of a batch itself, through the
// official clients: no request is charged, and the user hears of it once.

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { HTTPClient, Mistral } from "@mistralai/mistralai";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { mistralAccount } from "batchwise/dispatch/mistral";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeOptions, type FakePlan, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { DispatcherOptions } from "../../../src/dispatch/contract/dispatcher-options.ts";
import type { DispatchRequest, JsonObject } from "../../../src/dispatch/contract/types.ts";
import { some } from "../support/breadth.ts";
import { drive } from "../support/drive.ts";
import { isAtRest, START, world } from "../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const names = (count: number, prefix = "r"): string[] => Array.from({ length: count }, (_, index) => prefix + index);
const ask = (id: string): DispatchRequest => ({
  id,
  body: { model: "m", max_tokens: 50, messages: [{ role: "user", content: `Say ${id}.` }] },
});

interface Case {
  readonly name: string;
  readonly fake: FakeOptions;
  account(fake: FakeProvider): Account;
}

const openai: Case = {
  name: "OpenAI",
  fake: {},
  account: ({ fetch }) =>
    openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch }) }),
};
const anthropic: Case = {
  name: "Anthropic",
  fake: {},
  account: ({ fetch }) =>
    anthropicAccount({ client: new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch }) }),
};
const cases: readonly Case[] = [
  openai,
  anthropic,
  {
    name: "Mistral",
    fake: { dialect: "mistral" },
    account: (fake) => {
      const httpClient = new HTTPClient({ fetcher: (input, init) => fake.fetch(input, init) });
      return mistralAccount({ client: new Mistral({ apiKey: "key", serverURL: "http://fake.test", httpClient }) });
    },
  },
  {
    name: "Gemini",
    fake: {},
    account: ({ fetch }) => {
      const httpOptions = { baseUrl: "http://fake.test", fetch };
      return geminiAccount({ client: new GoogleGenAI({ apiKey: "key", httpOptions }) });
    },
  },
];

async function site(each: Case, options: (now: () => number) => FakeOptions, more: Partial<DispatcherOptions> = {}) {
  const here = world();
  const { time, store } = here;
  const fake = fakeProvider({ clock: time, ...each.fake, ...options(() => time.now()) });
  const told: { readonly code: string; readonly message: string }[] = [];
  const onError = (error: unknown): unknown => told.push(error as (typeof told)[number]);
  const spawn = () =>
    here.start({
      ...{ accounts: [each.account(fake)], thresholds: { maxRequests: 20, maxAgeMs: MINUTE }, onError },
      ...more,
    });
  const run = (done: () => Promise<boolean>): Promise<void> => drive(time, fake, done);
  return { fake, time, store, told, spawn, run, rest: () => run(() => isAtRest(store, time.now())) };
}

/** Until `end` so many of the lines end with this status. */
const failing =
  (end: number, failedStatus: number, failedShare = 1) =>
  (now: () => number): FakeOptions => ({
    plan: (): Partial<FakePlan> => (now() < START + end ? { failedShare, failedStatus } : {}),
  });

describe.each(some(2, cases))("three hours at $name", (each) => {
  test.each([
    ["in which every line meets 429", 429, 1],
    ["in which every line meets a 5xx", 500, 1],
    ["in which nearly every line does", 503, 0.97],
  ] as const)("%s charge no try, and are reported once", async (_name, status, share) => {
    const thresholds = { maxRequests: share === 1 ? 20 : 60, maxAgeMs: MINUTE };
    const { fake, spawn, told, rest, time } = await site(each, failing(3 * HOUR, status, share), { thresholds });
    const dispatcher = await spawn();
    await dispatcher.enqueueMany(names(60).map(ask));
    await rest();
    const outcomes = await Promise.all(names(60).map((name) => dispatcher.result(name)));
    expect(outcomes.filter((one) => one.status !== "succeeded" || one.attempts > 1)).toEqual([]);
    expect(told.filter(({ code }) => code === "LANE_PAUSED")).toHaveLength(1);
    expect(time.now() - START).toBeLessThan(6 * HOUR);
    expect(fake.batches().length).toBeLessThan(30);
    await dispatcher.stop();
  });
});

describe("a bad hour", () => {
  test("outlasts a restart: the next process waits for its end, and reports nothing again", async () => {
    const { fake, spawn, told, run, rest, time } = await site(openai, failing(2 * HOUR, 429));
    const first = await spawn();
    await first.enqueueMany(names(40).map(ask));
    await run(async () => told.length > 0);
    await first.stop();
    const sent = fake.calls("batches.create");
    const next = await spawn();
    const until = time.now() + 4 * MINUTE;
    await run(async () => time.now() >= until);
    expect(fake.calls("batches.create")).toBe(sent);
    await rest();
    expect((await next.stats()).outcomes).toMatchObject({ succeeded: 40, failed: 0 });
    expect(told.map(({ code }) => code)).toEqual(["LANE_PAUSED"]);
    await next.stop();
  });

  test("is met by several processes at once, and each batch is paused for once", async () => {
    const { fake, spawn, rest, told } = await site(openai, failing(3 * HOUR, 503));
    const all = [await spawn(), await spawn(), await spawn()];
    await all[0]?.enqueueMany(names(100).map(ask));
    await rest();
    expect((await all[0]?.stats())?.outcomes).toMatchObject({ succeeded: 100, failed: 0 });
    expect(told.filter(({ code }) => code === "LANE_PAUSED")).toHaveLength(1);
    expect(fake.batches().length).toBeLessThan(60);
    for (const one of all) await one.stop();
  });

  test("lets requests with a deadline expire in time, uncharged", async () => {
    const { spawn, rest, time } = await site(openai, failing(6 * HOUR, 429));
    const dispatcher = await spawn();
    const deadlineAt = time.now() + 2 * HOUR;
    await dispatcher.enqueueMany(names(10).map((id) => ({ ...ask(id), deadlineAt })));
    await rest();
    const outcomes = await Promise.all(names(10).map((name) => dispatcher.result(name)));
    expect(outcomes.every(({ status, attempts }) => status === "expired" && attempts === 0)).toBe(true);
    expect(time.now()).toBeLessThan(deadlineAt + HOUR);
    await dispatcher.stop();
  });

  test("of a day and a half ends: requests that still fail then are charged", async () => {
    const { spawn, rest, time } = await site(openai, failing(400 * HOUR, 529));
    const dispatcher = await spawn();
    await dispatcher.enqueueMany(names(5).map(ask));
    await rest();
    expect((await dispatcher.stats()).outcomes).toMatchObject({ succeeded: 0, failed: 5 });
    expect(time.now() - START).toBeGreaterThan(30 * HOUR);
    await dispatcher.stop();
  });
});

describe("requests that a provider fails among others that succeed", () => {
  test("are charged and end as before, also once only they share a batch", async () => {
    const { spawn, rest, time } = await site(openai, () => ({
      answer: ({ body, customId }) =>
        /poison/.test(JSON.stringify(body))
          ? { status: 500, body: { error: { message: "The server had an error.", type: "server_error" } } }
          : { status: 200, body: { id: customId, choices: [{ message: { role: "assistant", content: "a" } }] } },
    }));
    const dispatcher = await spawn();
    await dispatcher.enqueueMany([...names(14), ...names(6, "poison")].map(ask));
    await rest();
    const outcomes = await Promise.all(names(6, "poison").map((name) => dispatcher.result(name)));
    expect(outcomes.every(({ status, attempts }) => status === "failed" && attempts === 3)).toBe(true);
    expect(time.now() - START).toBeLessThan(4 * HOUR);
    await dispatcher.stop();
  });
});

describe("batches without one success", () => {
  test("are reported once a lane and code", async () => {
    const error = { type: "not_found_error", message: "model: m" };
    const { spawn, rest, told } = await site(anthropic, () => ({
      answer: () => ({ status: 404, body: { error } }),
    }));
    const dispatcher = await spawn();
    await dispatcher.enqueueMany(names(120).map(ask));
    await rest();
    expect((await dispatcher.stats()).outcomes.failed).toBe(120);
    expect(told.map(({ code }) => code)).toEqual(["BATCH_FAILED"]);
    expect(told[0]?.message).toMatch(/None of the \d+ requests .*not_found_error: model: m/);
    await dispatcher.stop();
  });

  test.each<[string, number, JsonObject, string]>([
    ["empty answers", 200, { choices: [] }, "LANE_PAUSED"],
    ["429", 429, { error: { type: "rate_limit_error", message: "Slow down." } }, "LANE_PAUSED"],
    ["400", 400, { error: { type: "invalid_request_error", message: "No." } }, "BATCH_FAILED"],
  ])("are reported where the provider counts their %s as done", async (_what, status, body, code) => {
    const { fake, spawn, run, told, time } = await site(openai, () => ({ answer: () => ({ status, body }) }));
    const edit = (text: string): string =>
      text.replace(/"total":(\d+),"completed":\d+,"failed":\d+/g, '"total":$1,"completed":$1,"failed":0');
    fake.inject({ on: ["batches.retrieve", "batches.list"], times: 1_000, reply: { edit } });
    const dispatcher = await spawn();
    await dispatcher.enqueueMany(names(20).map(ask));
    await run(async () => time.now() > START + 4 * HOUR);
    expect(told.map((one) => one.code)).toEqual([code]);
    await dispatcher.stop();
  });
});
