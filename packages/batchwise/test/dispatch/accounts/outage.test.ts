// A provider that refuses everything for hours, with messages that blame the batch, through the
// official clients. Nothing may fail, and the provider must not get ever more and smaller batches.

import Anthropic from "@anthropic-ai/sdk";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeOptions, type FakeProvider, fakeFaults, fakeProvider } from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Account } from "../../../src/dispatch/contract/account.ts";
import type { DispatchRequest } from "../../../src/dispatch/contract/types.ts";
import { some } from "../support/breadth.ts";
import { drive } from "../support/drive.ts";
import { isAtRest, START, seeded, world } from "../support/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);
const ask = (id: string): DispatchRequest => ({
  id,
  body: { model: "m", max_tokens: 50, messages: [{ role: "user", content: `Say ${id}.` }] },
});
const openai = (fake: FakeProvider): Account =>
  openaiAccount({ client: new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch }) });
const azure = (fake: FakeProvider): Account =>
  openaiAccount({
    client: new OpenAI({ apiKey: "key", baseURL: "http://fake.test/openai/v1", fetch: fake.fetch }),
    service: "azure",
  });
const anthropic = (fake: FakeProvider): Account =>
  anthropicAccount({ client: new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: fake.fetch }) });

interface Outage {
  readonly name: string;
  readonly account: (fake: FakeProvider) => Account;
  /** The fake's behaviour until `end`. */
  readonly options: (end: number, now: () => number) => FakeOptions;
  readonly prepare?: (fake: FakeProvider, end: number) => void;
}

const serverError = { code: "server_error", message: "The server had an error." };
const refusing = (fake: FakeProvider, until: number): void => fake.inject({ ...fakeFaults.oddRefusal, until });

const outages: readonly Outage[] = [
  {
    name: "OpenAI, which ends every batch with server_error",
    account: openai,
    options: (end, now) => ({ plan: () => (now() < end ? { failWith: serverError } : {}) }),
  },
  {
    name: "OpenAI, which fails every batch without a word",
    account: openai,
    options: (end, now) => ({ plan: () => (now() < end ? { failSilently: true } : {}) }),
  },
  {
    name: "Azure, which fails every batch with words that blame it",
    account: azure,
    options: (end, now) => ({
      dialect: "azure",
      plan: () => (now() < end ? { failWith: { code: "invalid_request", message: "Invalid." } } : {}),
    }),
  },
  {
    name: "OpenAI, which answers uploads and creates with an odd 400",
    account: openai,
    options: () => ({}),
    prepare: refusing,
  },
  {
    name: "Anthropic, which answers creates with an odd 400",
    account: anthropic,
    options: () => ({}),
    prepare: refusing,
  },
];

async function during(each: Outage, outageMs: number, count: number, maxRequests: number) {
  const here = world();
  const end = START + outageMs;
  const fake = fakeProvider({ clock: here.time, ...each.options(end, () => here.time.now()) });
  each.prepare?.(fake, end);
  const [told, about]: [string[], string[]] = [[], []];
  const dispatcher = await here.start({
    accounts: [each.account(fake)],
    thresholds: { maxRequests, maxAgeMs: MINUTE },
    random: seeded(3),
    onError: (error, { account, batch, operation }) => {
      told.push((error as { code?: string }).code ?? String(error));
      about.push(`${account} ${batch?.length} ${operation}`);
    },
  });
  await dispatcher.enqueueMany(names(count).map(ask));
  const creates = (): number =>
    fake.calls("batches.create") + fake.calls("messages.create") + fake.calls("files.create");
  return {
    ...here,
    fake,
    dispatcher,
    told,
    about,
    creates,
    run: (done: () => Promise<boolean>) => drive(here.time, fake, done),
  };
}

describe.each(some(3, outages))("two hours of $name", (each) => {
  test.each([
    [200, 50],
    [3, 1],
  ])("cost none of %i requests in batches of %i a try, and take few calls", async (count, size) => {
    const { run, store, time, fake, dispatcher, told, creates } = await during(each, 2 * HOUR, count, size);
    await run(() => isAtRest(store, time.now()));
    const outcomes = await Promise.all(names(count).map((name) => dispatcher.result(name)));
    await dispatcher.stop();
    expect(outcomes.filter(({ status, attempts }) => status !== "succeeded" || attempts !== 1)).toEqual([]);
    expect([...fake.runs().values()]).toEqual(names(count).map(() => 1));
    expect(creates()).toBeLessThan(70);
    expect(told.filter((code) => code === "ACCOUNT_PAUSED")).toHaveLength(1);
    expect(time.now() - START).toBeLessThan(5 * HOUR);
  });
});

test.each(some(2, outages))("four days of $name quarantine the requests, for an operator to decide", async (each) => {
  const { run, store, time, dispatcher, told, creates } = await during(each, 4 * DAY, 20, 10);
  await run(async () => time.now() >= START + 3.5 * DAY);
  const { outcomes, batches, inBatches } = await dispatcher.stats();
  expect([outcomes.failed, outcomes.succeeded]).toEqual([0, 0]);
  expect(batches.quarantined).toBeGreaterThan(0);
  expect(inBatches).toBeGreaterThan(0);
  expect(told).toContain("BATCH_REFUSED");
  expect(creates()).toBeLessThan(400);
  await run(async () => time.now() >= START + 4 * DAY);
  const aside = await dispatcher.batches({ states: ["quarantined"] });
  await dispatcher.resume(aside.map(({ key }) => key));
  await run(() => isAtRest(store, time.now()));
  await dispatcher.stop();
  expect((await dispatcher.stats()).outcomes).toMatchObject({ succeeded: 20, failed: 0 });
});

test("half an hour without room for another file, as Azure says it, costs nothing", async () => {
  const quota: Outage = {
    name: "",
    account: azure,
    options: () => ({ dialect: "azure" }),
    prepare: (fake, until) => fake.inject({ ...fakeFaults.fileQuotaExceeded, until }),
  };
  const { run, store, time, dispatcher, creates } = await during(quota, 30 * MINUTE, 1_000, 500);
  await run(() => isAtRest(store, time.now()));
  await dispatcher.stop();
  expect((await dispatcher.stats()).outcomes).toMatchObject({ succeeded: 1_000, failed: 0 });
  expect(creates()).toBeLessThan(16);
});

test("onError gets the account, batch and call of an error", async () => {
  const [each] = outages.slice(3) as [Outage];
  const { run, store, time, dispatcher, about } = await during(each, 10 * MINUTE, 4, 2);
  await run(() => isAtRest(store, time.now()));
  await dispatcher.stop();
  expect(new Set(about)).toEqual(new Set(["openai 26 upload"]));
});
