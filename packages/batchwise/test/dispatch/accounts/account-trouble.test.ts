// Account problems that look like invalid requests: missing credit, keys and permissions, in single
// results and in refused calls, and an unknown address. The account pauses, the user gets the
// reason, and no request ends or is charged for it.

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { HTTPClient, Mistral } from "@mistralai/mistralai";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { mistralAccount } from "batchwise/dispatch/mistral";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeOptions, type FakeProvider, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Account } from "../../../src/dispatch/contract/account.ts";
import { drive } from "../support/drive.ts";
import { isAtRest, world } from "../support/world.ts";

const MINUTE = 60_000;
const names = ["r0", "r1", "r2"];
const call = { signal: new AbortController().signal, timeoutMs: 60_000 };

interface Case {
  readonly name: string;
  readonly fake: FakeOptions;
  account(fake: FakeProvider, base: string): Account;
}

const anthropic: Case = {
  name: "Anthropic",
  fake: {},
  account: ({ fetch }, base) => anthropicAccount({ client: new Anthropic({ apiKey: "key", baseURL: base, fetch }) }),
};
const openai: Case = {
  name: "OpenAI",
  fake: {},
  account: ({ fetch }, base) => openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: `${base}/v1`, fetch }) }),
};
const gemini: Case = {
  name: "Gemini",
  fake: {},
  account: ({ fetch }, baseUrl) =>
    geminiAccount({ client: new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl, fetch } }) }),
};
const mistral: Case = {
  name: "Mistral",
  fake: { dialect: "mistral" },
  account: (fake, serverURL) => {
    const httpClient = new HTTPClient({ fetcher: (input, init) => fake.fetch(input, init) });
    return mistralAccount({ client: new Mistral({ apiKey: "key", serverURL, httpClient }) });
  },
};

/** One batch of three requests, driven until all have ended or the time has passed. */
async function dispatched(each: Case, base: string, prepare: (fake: FakeProvider) => void, untilMs: number) {
  const { time, store, start } = world();
  const fake = fakeProvider({ clock: time, ...each.fake });
  prepare(fake);
  const told: string[] = [];
  const onError = (error: unknown): void => {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    if (code === "ACCOUNT_PAUSED") told.push(message);
  };
  const accounts = [each.account(fake, base)];
  const dispatcher = await start({ accounts, thresholds: { maxRequests: 3, maxAgeMs: MINUTE }, onError });
  await dispatcher.enqueueMany(
    names.map((id) => ({ id, body: { model: "m", max_tokens: 9, messages: [{ role: "user", content: id }] } })),
  );
  const end = time.now() + untilMs;
  await drive(time, fake, async () => time.now() >= end || (await isAtRest(store, time.now())));
  const records = await store.requests({ ids: names, limit: names.length });
  await dispatcher.stop();
  return { fake, told, records };
}

describe("a result that blames the account", () => {
  const atAnthropic = (error: object) => (line: { readonly custom_id: string }) => ({
    custom_id: line.custom_id,
    result: { type: "errored", error: { type: "error", error } },
  });
  const atOpenai = (status_code: number, error: object) => (line: object) => ({
    ...line,
    response: { status_code, request_id: "r", body: { error } },
  });
  const credit = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.";
  const bad = { type: "invalid_request_error", message: "Refused." };
  const limit = { type: "rate_limit_error", message: "Refused." };
  const caused = (error: object, error_code: string) => atAnthropic({ ...error, details: { error_code } });

  test.each<[string, Case, (line: never) => object, string]>([
    ["a credit that is too low", anthropic, atAnthropic({ ...bad, message: credit }), credit],
    [
      "a usage limit",
      anthropic,
      atAnthropic({ ...bad, message: "You have reached your specified API usage limits." }),
      "usage limits",
    ],
    ["a key of encryption", anthropic, caused(bad, "cmek_key_disabled"), "cmek_key_disabled"],
    ["a network before it", anthropic, caused(bad, "cmek_key_network_blocked"), "cmek_key_network_blocked"],
    ["human review", anthropic, caused(bad, "workspace_human_review_disabled"), "workspace_human_review_disabled"],
    ["a key's creator", anthropic, caused(bad, "claude_code_key_creator_not_member"), "claude_code_key_creator"],
    ["an organization on hold", anthropic, caused(bad, "organization_on_hold"), "organization_on_hold"],
    ["a spend limit", anthropic, caused(limit, "enforced_spend_limit_reached"), "enforced_spend_limit_reached"],
    ["that of a contract", anthropic, caused(limit, "contract_spend_limit_reached"), "contract_spend_limit_reached"],
    ["a ramp limit", anthropic, caused(limit, "ramp_limit_exceeded"), "ramp_limit_exceeded"],
    [
      "a key that is gone",
      anthropic,
      atAnthropic({ type: "authentication_error", message: "No." }),
      "authentication_error",
    ],
    ["a quota", openai, atOpenai(429, { code: "insufficient_quota", message: "No." }), "insufficient_quota"],
    [
      "a hard limit",
      openai,
      atOpenai(400, { code: "billing_hard_limit_reached", message: "No." }),
      "billing_hard_limit",
    ],
    [
      "a key",
      openai,
      atOpenai(401, { code: "invalid_api_key", message: "Incorrect API key provided: sk-1" }),
      "invalid_api_key",
    ],
    ["a payment", openai, atOpenai(402, { message: "Insufficient Balance" }), "http_402: Insufficient Balance"],
  ])("%s (%#) pauses it and costs no try", async (_what, each, toLine, words) => {
    const edit = (body: string): string =>
      body.replace(/.+/g, (line) => JSON.stringify((toLine as (line: object) => object)(JSON.parse(line))));
    const prepare = (fake: FakeProvider): void =>
      fake.inject({ on: ["messages.results", "files.content"], reply: { edit } });
    const { told, records } = await dispatched(each, "http://fake.test", prepare, 6 * 60 * MINUTE);
    expect(records.map((record) => [record.ended?.status, record.attempts])).toEqual(names.map(() => ["succeeded", 1]));
    expect(told).toEqual([expect.stringContaining(words)]);
    expect(told[0]).toMatch(/^The account ".+" is paused at least until 2026-.+Its requests wait, until that ends\.$/);
  });

  test("and only quotes such words does not", async () => {
    const message = "Invalid value: 'Your credit balance is too low'. Supported values are: 'a'.";
    const edit = (body: string): string =>
      body.replace(/.+/g, (line) => JSON.stringify(atAnthropic({ ...bad, message })(JSON.parse(line))));
    const prepare = (fake: FakeProvider): void => fake.inject({ on: "messages.results", reply: { edit } });
    const { told, records } = await dispatched(anthropic, "http://fake.test", prepare, 6 * 60 * MINUTE);
    expect(records.map((record) => record.ended?.status)).toEqual(names.map(() => "failed"));
    expect(told).toEqual([]);
  });

  describe("only by its words, which may be about the request,", () => {
    const message = "This tool requires a subscription.";
    const refusing = (each: Case, isBad: (body: string) => boolean): Case => ({
      ...each,
      fake: {
        ...each.fake,
        answer: ({ body, customId }) =>
          isBad(JSON.stringify(body))
            ? { status: 400, body: { error: { type: "invalid_request_error", message } } }
            : { status: 200, body: { id: customId, choices: [{ message: { role: "assistant", content: "a" } }] } },
      },
    });

    test.each([openai, mistral])("costs tries from the second time on at $name", async (each) => {
      const bad = refusing(each, () => true);
      const { fake, told, records } = await dispatched(bad, "http://fake.test", () => {}, 24 * 60 * MINUTE);
      expect(records.map((record) => [record.ended?.status, record.attempts])).toEqual(names.map(() => ["failed", 3]));
      expect(fake.batches()).toHaveLength(4);
      expect(told).toEqual([expect.stringContaining(message)]);
    });

    test.each([openai, mistral])("beside a success does not pause the account at $name", async (each) => {
      const bad = refusing(each, (body) => body.includes("r1"));
      const { fake, told, records } = await dispatched(bad, "http://fake.test", () => {}, 24 * 60 * MINUTE);
      expect(records.map((record) => [record.ended?.status, record.attempts])).toEqual([
        ["succeeded", 1],
        ["failed", 3],
        ["succeeded", 1],
      ]);
      expect(fake.batches()).toHaveLength(4);
      expect(told).toEqual([]);
    });

    test("beside a success costs no try the first time: money may run out amid a batch", async () => {
      const edit = (body: string): string =>
        body.replace(/.+/, (line) => JSON.stringify(atAnthropic({ ...bad, message: credit })(JSON.parse(line))));
      const prepare = (fake: FakeProvider): void => fake.inject({ on: "messages.results", reply: { edit } });
      const { fake, told, records } = await dispatched(anthropic, "http://fake.test", prepare, 6 * 60 * MINUTE);
      expect(records.map((record) => [record.ended?.status, record.attempts])).toEqual(
        names.map(() => ["succeeded", 1]),
      );
      expect(fake.batches()).toHaveLength(2);
      expect(told).toEqual([]);
    });
  });
});

describe("a pause for money", () => {
  const noMoney = { error: { message: "No.", type: null, code: "insufficient_quota" } };
  const ask = (id: string) => ({ id, body: { model: "m", messages: [{ role: "user", content: id }] } });

  /** A dispatcher over OpenAI accounts, and its reports of their pauses. */
  async function dispatcherOf({ start }: ReturnType<typeof world>, fakes: Readonly<Record<string, FakeProvider>>) {
    const told: string[] = [];
    const onError = (error: unknown): void => {
      const { code, message } = error as { readonly code?: string; readonly message: string };
      told.push(`${code}: ${message}`);
    };
    const accounts = Object.entries(fakes).map(([name, { fetch }]) =>
      openaiAccount({ name, client: new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch }) }),
    );
    const thresholds = { maxRequests: 3, maxAgeMs: MINUTE };
    return { dispatcher: await start({ accounts, thresholds, onError }), told };
  }

  test("is reported by each process that meets it", async () => {
    const here = world();
    const fake = fakeProvider({ clock: here.time });
    fake.inject({ on: "files.create", accept: false, times: 100, reply: { status: 429, body: noMoney } });
    const first = await dispatcherOf(here, { a: fake });
    await first.dispatcher.enqueueMany(names.map(ask));
    await drive(here.time, fake, async () => first.told.length > 0);
    await first.dispatcher.stop();
    const second = await dispatcherOf(here, { a: fake });
    const end = here.time.now() + 60 * MINUTE;
    await drive(here.time, fake, async () => here.time.now() >= end);
    await second.dispatcher.stop();
    expect(second.told).toEqual([
      expect.stringMatching(/^ACCOUNT_PAUSED: .+"a" is paused at least until .+insufficient_quota/),
    ]);
  });

  test("is reported where a batch fails for it and goes to another account", async () => {
    const here = world();
    const plan = { runMs: 5 * 60 * MINUTE };
    const [poor, rich] = [fakeProvider({ clock: here.time, plan }), fakeProvider({ clock: here.time })];
    const both = {
      get open() {
        return poor.open + rich.open;
      },
    };
    const request_counts = { total: 0, completed: 0, failed: 0 };
    const failsAt = here.time.now() + 40 * MINUTE;
    const errors = { data: [{ code: "billing_hard_limit_reached", message: "No.", line: null, param: null }] };
    const edit = (body: string): string =>
      here.time.now() < failsAt
        ? body
        : JSON.stringify({ ...JSON.parse(body), status: "failed", errors, request_counts });
    poor.inject({ on: "batches.retrieve", times: 10_000, reply: { edit } });
    const { dispatcher, told } = await dispatcherOf(here, { poor, rich });
    await dispatcher.pauseAccount("rich", "later");
    await dispatcher.enqueueMany(names.map(ask));
    await drive(here.time, both, async () => poor.calls("batches.create") > 0);
    await dispatcher.resumeAccount("rich");
    await drive(here.time, both, () => isAtRest(here.store, here.time.now()));
    await dispatcher.stop();
    expect([poor.calls("batches.create"), rich.calls("batches.create")]).toEqual([1, 1]);
    expect(told).toEqual([
      expect.stringMatching(/^ACCOUNT_PAUSED: .+"poor" is paused at least until .+billing_hard_limit/),
    ]);
  });

  test("is reported once while results say it, even if creates succeed meanwhile", async () => {
    const here = world();
    const fake = fakeProvider({ clock: here.time, plan: { runMs: 60 * MINUTE } });
    const response = { status_code: 429, request_id: "r", body: noMoney };
    const edit = (body: string): string =>
      body.replace(/.+/g, (line) => JSON.stringify({ ...JSON.parse(line), response }));
    fake.inject({ on: "files.content", until: here.time.now() + 8 * 60 * MINUTE, reply: { edit } });
    const { dispatcher, told } = await dispatcherOf(here, { a: fake });
    await dispatcher.enqueueMany(names.map(ask));
    await drive(here.time, fake, () => isAtRest(here.store, here.time.now()));
    await dispatcher.stop();
    expect(fake.calls("batches.create")).toBeGreaterThan(3);
    expect(told).toEqual([
      expect.stringMatching(/^ACCOUNT_PAUSED: .+"a" is paused at least until .+insufficient_quota/),
    ]);
  });
});

describe.each([openai, anthropic, gemini, mistral])("an address that $name does not have", (each) => {
  test("pauses the account at the first call, with words, and ends no request", async () => {
    const { fake, told, records } = await dispatched(each, "http://fake.test/wrong", () => {}, 20 * MINUTE);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/unknown_url: There is nothing at this address, check the base URL and the API version/);
    expect(fake.calls()).toBe(0);
    expect(records.map((record) => [record.state, record.attempts])).toEqual(names.map(() => ["claimed", 0]));
  });

  test("is not a batch that is gone", async () => {
    const fake = fakeProvider(each.fake);
    const wrong = each.account(fake, "http://fake.test/wrong");
    await expect(wrong.retrieve("batch_1", call)).rejects.toThrow(/Unknown URL/);
    expect(await each.account(fake, "http://fake.test").retrieve("batch_1", call)).toBeNull();
  });
});
