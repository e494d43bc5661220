// Incomplete results that look complete, through the official clients: the provider counts more
// lines than it gives. They are read again, and no request runs twice.

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { HTTPClient, Mistral } from "@mistralai/mistralai";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { mistralAccount } from "batchwise/dispatch/mistral";
import { openaiAccount } from "batchwise/dispatch/openai";
import {
  type FakeFault,
  type FakeOptions,
  type FakePlan,
  type FakeProvider,
  fakeProvider,
} from "batchwise/dispatch/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Account } from "../../../../src/dispatch/contract/account.ts";
import { some } from "../../support/breadth.ts";
import { drive } from "../../support/drive.ts";
import { isAtRest, world } from "../../support/world.ts";

const MINUTE = 60_000;
const COUNT = 50;
const names = Array.from({ length: COUNT }, (_, index) => `r${index}`);

const openai = (fake: FakeProvider): OpenAI =>
  new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });

interface Case {
  readonly name: string;
  readonly fake: FakeOptions;
  account(fake: FakeProvider): Account;
}

const cases: readonly Case[] = [
  { name: "OpenAI", fake: {}, account: (fake) => openaiAccount({ client: openai(fake) }) },
  {
    name: "Together",
    fake: { dialect: "together" },
    account: (fake) => openaiAccount({ client: openai(fake), service: "together" }),
  },
  {
    name: "Anthropic",
    fake: {},
    account: (fake) =>
      anthropicAccount({ client: new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: fake.fetch }) }),
  },
];

const others: readonly Case[] = [
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
    account: (fake) => {
      const httpOptions = { baseUrl: "http://fake.test", fetch: fake.fetch };
      return geminiAccount({ client: new GoogleGenAI({ apiKey: "key", httpOptions }) });
    },
  },
];

const DOWNLOADS = ["files.content", "messages.results"] as const;
const CREATES = ["batches.create", "messages.create"] as const;

/** Sends all as one batch, and returns all reports to onError. */
async function dispatched(each: Case, options: FakeOptions, faults: readonly FakeFault[]) {
  const { time, store, start } = world();
  const fake = fakeProvider({ clock: time, ...each.fake, ...options });
  for (const fault of faults) fake.inject(fault);
  const told: string[] = [];
  const onError = (error: unknown): number => told.push((error as Error).message);
  const accounts = [each.account(fake)];
  const dispatcher = await start({ accounts, thresholds: { maxRequests: COUNT, maxAgeMs: MINUTE }, onError });
  await dispatcher.enqueueMany(
    names.map((id) => ({
      id,
      body: { model: "m", max_tokens: 50, messages: [{ role: "user", content: `Say ${id}.` }] },
    })),
  );
  const begunAt = time.now();
  await drive(time, fake, () => isAtRest(store, time.now()));
  const tookMs = time.now() - begunAt;
  const outcomes = await Promise.all(names.map((name) => dispatcher.result(name)));
  const batches = await dispatcher.batches();
  await dispatcher.stop();
  return { fake, outcomes, batches, told, tookMs };
}

describe.each(cases)("at $name", (each) => {
  const whole: readonly (readonly [string, FakeOptions, readonly FakeFault[]])[] = [
    ["named two minutes after its counts", { plan: { resultsLagMs: 2 * MINUTE } }, []],
    ["short the first time", {}, [{ on: DOWNLOADS, reply: { endAfterLines: 20 } }]],
    ["empty the first three times", {}, [{ on: DOWNLOADS, times: 3, reply: { endAfterLines: 0 } }]],
    [
      "short of a batch that expired half done",
      { plan: { runMs: 26 * 60 * MINUTE, expiredShare: 0.5 } },
      [{ on: DOWNLOADS, reply: { endAfterLines: 10 } }],
    ],
    [
      "empty, and an answer lost before",
      { listLagMs: 40_000 },
      [
        { on: CREATES, reply: "drop" },
        { on: DOWNLOADS, reply: { endAfterLines: 0 } },
      ],
    ],
  ];

  test.each(whole)("results that are %s are read again, and nothing runs twice", async (_name, options, faults) => {
    const plan = options.plan ?? {};
    const once = { ...options, plan: ({ index }: { readonly index: number }) => (index === 0 ? { ...plan } : {}) };
    const { fake, outcomes, told } = await dispatched(each, once, faults);
    expect(outcomes.every(({ status }) => status === "succeeded")).toBe(true);
    expect([...fake.runs().values()]).toEqual(names.map(() => 1));
    expect(told.filter((message) => message.includes("read again"))).toHaveLength(1);
  });

  test("a line that the provider counts and never gives is charged after an hour of reads that agree", async () => {
    const plan = ({ index }: { readonly index: number }) => (index === 0 ? { missingLines: 2 } : {});
    const { fake, outcomes, told, tookMs } = await dispatched(each, { plan }, []);
    expect(outcomes.every(({ status }) => status === "succeeded")).toBe(true);
    expect(outcomes.filter(({ attempts }) => attempts === 2)).toHaveLength(2);
    expect(tookMs).toBeGreaterThan(100 * MINUTE);
    expect(fake.calls("files.content") + fake.calls("messages.results")).toBeLessThan(12);
    expect(told).toHaveLength(2);
    expect(told[1]).toMatch(/requests without a line \(2\) count as missing/);
  });
});

/** The plan of the first batch; later ones go as they usually do. */
const first =
  (plan: Partial<FakePlan>) =>
  ({ index }: { readonly index: number }): Partial<FakePlan> =>
    index === 0 ? plan : {};

describe.each(some(3, [...cases, ...others]))("at $name, where neither counts nor results are there yet", (each) => {
  const LAG = { resultsLagMs: 7 * MINUTE, countsLagMs: 7 * MINUTE };

  test("a batch that is done is read again, and nothing runs twice", async () => {
    const { fake, outcomes, told, tookMs } = await dispatched(each, { plan: first(LAG) }, []);
    expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
    expect([...fake.runs().values()]).toEqual(names.map(() => 1));
    expect(told.filter((message) => message.includes("read again"))).toHaveLength(1);
    expect(told.join()).not.toMatch(/provider counts/);
    expect(tookMs).toBeLessThan(60 * MINUTE);
  });

  test("requests of a batch that never shows any are charged after an hour of reads that agree", async () => {
    const plan = first({ resultsLagMs: Number.POSITIVE_INFINITY, countsLagMs: Number.POSITIVE_INFINITY });
    const { outcomes, told, tookMs } = await dispatched(each, { plan }, []);
    expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 2)).toBe(true);
    expect(tookMs).toBeGreaterThan(90 * MINUTE);
    expect(told).toHaveLength(3);
    expect(told[1]).toMatch(/requests without a line \(50\) count as missing/);
    expect(told[2]).toMatch(/None of the 50 requests .* "missing_result/);
  });
});

describe.each(cases)("at $name, where neither counts nor results are there yet", (each) => {
  test("a batch that expired half done is read again, and finished requests do not run twice", async () => {
    const window = { runMs: 26 * 60 * MINUTE, expiredShare: 0.5 };
    const plan = first({ ...window, resultsLagMs: 7 * MINUTE, countsLagMs: 7 * MINUTE });
    const { fake, outcomes } = await dispatched(each, { plan }, []);
    expect(outcomes.every(({ status }) => status === "succeeded")).toBe(true);
    expect([...fake.runs().values()]).toEqual(names.map(() => 1));
  });

  test("a create whose answer was lost is adopted all the same, and nothing runs twice", async () => {
    const lag = { resultsLagMs: 7 * MINUTE, countsLagMs: 7 * MINUTE };
    const faults = [{ on: CREATES, reply: "drop" as const }];
    const { fake, outcomes } = await dispatched(each, { plan: first(lag) }, faults);
    expect(outcomes.every(({ status }) => status === "succeeded")).toBe(true);
    expect([...fake.runs().values()]).toEqual(names.map(() => 1));
  });
});

test("a download that gets no answer is shown with a code, although the client's error has none", async () => {
  const { time, start } = world();
  const fake = fakeProvider({ clock: time });
  fake.inject({ on: "files.content", times: 99, reply: "drop" });
  const dispatcher = await start({
    accounts: [openaiAccount({ client: openai(fake) })],
    thresholds: { maxRequests: 1 },
  });
  await dispatcher.enqueue({ id: "a", body: { model: "m", input: "a" } });
  const shown = async () => (await dispatcher.batches())[0]?.lastError ?? null;
  await drive(time, fake, async () => (await shown()) !== null);
  expect(await shown()).toMatchObject({ code: "no_answer" });
  await dispatcher.stop();
});
