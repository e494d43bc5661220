// The dispatcher with the real adapters over the official clients, against the strict fake
// provider, in virtual time. The scenarios hold with real wire formats too.

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { HTTPClient, Mistral } from "@mistralai/mistralai";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { mistralAccount } from "batchwise/dispatch/mistral";
import { openaiAccount } from "batchwise/dispatch/openai";
import { type FakeOptions, type FakeProvider, fakeFaults, fakeGcs, fakeProvider } from "batchwise/dispatch/testing";
import { xaiAccount } from "batchwise/dispatch/xai";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { Account } from "../../src/dispatch/contract/account.ts";
import type { DispatchRequest, Outcome } from "../../src/dispatch/contract/types.ts";
import { vertexInProcess } from "./providers/vertex/in-process.ts";
import { some } from "./support/breadth.ts";
import { drive } from "./support/drive.ts";
import { isAtRest, START, seeded, world } from "./support/world.ts";

const MINUTE = 60_000;

interface Case {
  readonly name: string;
  readonly create: "batches.create" | "messages.create" | "gemini.create" | "jobs.create" | "vertex.create";
  readonly fake: FakeOptions;
  /** A batch ends when it ends. */
  readonly neverExpires?: boolean;
  /** An expired batch gives no results, even of requests that ran. */
  readonly expiresEmpty?: boolean;
  account(fake: FakeProvider): Account;
}

const openai = (fake: FakeProvider): OpenAI =>
  new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: fake.fetch });

const gemini = (fake: FakeProvider): GoogleGenAI =>
  new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: "http://fake.test", fetch: fake.fetch } });

const cases: readonly Case[] = [
  { name: "OpenAI", create: "batches.create", fake: {}, account: (fake) => openaiAccount({ client: openai(fake) }) },
  {
    name: "Together, which has no tags,",
    create: "batches.create",
    fake: { dialect: "together" },
    account: (fake) => openaiAccount({ client: openai(fake), service: "together" }),
  },
  {
    name: "Anthropic",
    create: "messages.create",
    fake: {},
    account: (fake) =>
      anthropicAccount({ client: new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: fake.fetch }) }),
  },
  {
    name: "Gemini",
    create: "gemini.create",
    fake: {},
    expiresEmpty: true,
    account: (fake) => geminiAccount({ client: gemini(fake) }),
  },
  {
    name: "Gemini, in files,",
    create: "gemini.create",
    fake: {},
    expiresEmpty: true,
    account: (fake) => geminiAccount({ client: gemini(fake), maxInlineBytes: 0 }),
  },
  {
    name: "Mistral",
    create: "jobs.create",
    fake: { dialect: "mistral" },
    account: (fake) => {
      const httpClient = new HTTPClient({ fetcher: (input, init) => fake.fetch(input, init) });
      return mistralAccount({ client: new Mistral({ apiKey: "key", serverURL: "http://fake.test", httpClient }) });
    },
  },
  {
    name: "xAI",
    create: "batches.create",
    fake: { dialect: "xai" },
    neverExpires: true,
    account: (fake) => xaiAccount({ client: openai(fake) }),
  },
  vertexCase("Gemini", "google"),
  vertexCase("Claude", "anthropic"),
  vertexCase("Llama", "meta"),
];

/** One bucket for all tests: each batch has folders of its own. */
function vertexCase(model: string, publisher: string): Case {
  const storage = fakeGcs();
  const account = (fake: FakeProvider): Account => vertexInProcess(fake, storage, publisher);
  return { name: `Vertex AI, with ${model},`, create: "vertex.create", fake: { storage }, account };
}

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);
const ask = (id: string): DispatchRequest => ({
  id,
  body: { model: "m", max_tokens: 50, messages: [{ role: "user", content: `Say ${id}.` }] },
});

async function dispatchAll(each: Case, options: FakeOptions, prepare: (fake: FakeProvider) => void) {
  const { time, store, start } = world();
  const fake = fakeProvider({ clock: time, ...each.fake, ...options });
  prepare(fake);
  const thresholds = { maxRequests: 20, maxAgeMs: MINUTE };
  const dispatcher = await start({ accounts: [each.account(fake)], thresholds, random: seeded(3) });
  await dispatcher.enqueueMany(names(50).map(ask));
  await drive(time, fake, () => isAtRest(store, time.now()));
  const outcomes: Outcome[] = [];
  for await (const outcome of dispatcher.outcomes()) if (outcomes.push(outcome) === 50) break;
  const batches = await dispatcher.batches();
  await dispatcher.stop();
  return { fake, outcomes, batches };
}

const textOf = ({ response }: Outcome): unknown => {
  const body = response?.body as { choices?: { message?: { content?: string } }[] } | undefined;
  return body?.choices?.[0]?.message?.content;
};

describe.each(some(3, cases))("at $name", (each) => {
  test("every request gets its own answer in OpenAI's shape", async () => {
    const { fake, outcomes } = await dispatchAll(each, {}, () => {});
    expect(outcomes.map(({ id }) => id).toSorted()).toEqual(names(50).toSorted());
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "succeeded", attempts: 1 });
      expect(String(textOf(outcome))).toContain(`Say ${outcome.id}.`);
      expect(outcome.usage?.totalTokens).toBeGreaterThan(0);
    }
    expect([...fake.runs().values()]).toEqual(names(50).map(() => 1));
  });

  test("an answer that is lost after the create was accepted runs nothing twice", async () => {
    const { fake, outcomes, batches } = await dispatchAll(each, { listLagMs: 40_000 }, (fake) => {
      fake.inject({ on: each.create, reply: "drop" });
      fake.inject({ on: each.create, reply: { status: 500 } });
    });
    expect(outcomes.every(({ status }) => status === "succeeded")).toBe(true);
    expect(fake.calls(each.create)).toBe(batches.length);
    expect([...fake.runs().values()]).toEqual(names(50).map(() => 1));
  });

  test("a download that ends early, and looks whole, costs no request a try", async () => {
    let before = 0;
    const { fake, outcomes } = await dispatchAll(each, {}, (fake) => {
      before = fake.faultsHit;
      fake.inject(fakeFaults.shortDownload);
      fake.inject(fakeFaults.emptyDownload);
      fake.inject(fakeFaults.cutDownload);
    });
    expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
    expect(fake.faultsHit - before).toBe(3);
    expect([...fake.runs().values()]).toEqual(names(50).map(() => 1));
  });

  test("lines that fail, that are missing and that come twice end as one outcome each", async () => {
    const plan = { failedShare: 0.2, missingLines: 2, duplicateLines: 3 };
    const first = (facts: { readonly index: number }) => (facts.index < 3 ? plan : {});
    const { outcomes, batches } = await dispatchAll(each, { plan: first }, () => {});
    expect(new Set(outcomes.map(({ id }) => id)).size).toBe(50);
    expect(outcomes.every(({ status }) => status === "succeeded")).toBe(true);
    expect(outcomes.filter(({ attempts }) => attempts === 2).length).toBeGreaterThan(5);
    expect(batches.every(({ state }) => state === "done")).toBe(true);
  });

  test("a batch that expires half done gives its half, and the rest goes again", async () => {
    const plan = (facts: { readonly index: number }) =>
      facts.index === 0 ? { runMs: (each.expiresEmpty === true ? 50 : 26) * 60 * MINUTE, expiredShare: 0.5 } : {};
    const { fake, outcomes } = await dispatchAll(each, { plan }, () => {});
    expect(outcomes.every(({ status }) => status === "succeeded")).toBe(true);
    // Requests that ran in a batch without results run again.
    const [again, twice] = each.neverExpires === true ? [0, 0] : each.expiresEmpty === true ? [20, 10] : [10, 0];
    expect(outcomes.filter(({ attempts }) => attempts === 2)).toHaveLength(again);
    const runs = [...fake.runs().values()];
    expect([runs.length, runs.filter((count) => count === 2).length]).toEqual([50, twice]);
    expect(Math.max(...runs)).toBe(twice === 0 ? 1 : 2);
  });
});

test("a limit on enqueued tokens is learned from the provider's words", async () => {
  const [each] = cases as [Case];
  const { outcomes, fake } = await dispatchAll(each, { limits: { enqueuedTokens: 250 } }, () => {});
  expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
  expect([...fake.runs().values()]).toEqual(names(50).map(() => 1));
});

test("a limit on enqueued tokens is backpressure at Azure too, which names result files of a batch that it failed", async () => {
  const account = (fake: FakeProvider): Account => {
    return openaiAccount({ client: openai(fake), service: "azure" });
  };
  const azure: Case = { name: "Azure", create: "batches.create", fake: { dialect: "azure" }, account };
  const limits = { enqueuedTokens: 250 };
  const { outcomes, fake } = await dispatchAll(azure, { limits }, () => {});
  expect(outcomes.filter(({ status, attempts }) => status !== "succeeded" || attempts !== 1)).toEqual([]);
  expect([...fake.runs().values()]).toEqual(names(50).map(() => 1));
});

test("recordings and documents fit a token limit that their base64 would exceed as text", async () => {
  const { time, store, start } = world();
  const fake = fakeProvider({ clock: time, limits: { enqueuedTokens: 60_000 } });
  const limits = { maxEnqueuedTokens: 60_000 };
  const dispatcher = await start({ accounts: [openaiAccount({ client: openai(fake), limits })] });
  const data = Buffer.alloc(600_000, "mp3").toString("base64");
  const file = { filename: "a.pdf", file_data: `data:application/pdf;base64,${data}` };
  const parts = [
    { type: "input_audio", input_audio: { data, format: "mp3" } },
    { type: "file", file },
  ];
  const bodies = parts.map((part) => ({ model: "m", messages: [{ role: "user", content: [part] }] }));
  await dispatcher.enqueueMany(bodies.map((body, index) => ({ id: `r${index}`, body })));
  dispatcher.flush();
  await drive(time, fake, () => isAtRest(store, time.now()));
  expect(await dispatcher.stats()).toMatchObject({ outcomes: { succeeded: 2 }, batches: { done: 1 } });
  expect(new Set(fake.batches().map(({ state }) => state))).toEqual(new Set(["completed"]));
});

describe("embeddings", () => {
  const embed = (id: string): DispatchRequest => ({ id, body: { model: "e", input: [`${id} a`, `${id} b`] } });

  async function embedded(options: FakeOptions) {
    const { time, store, start } = world();
    const fake = fakeProvider({ clock: time, ...options });
    const thresholds = { maxRequests: 20, maxAgeMs: MINUTE };
    const dispatcher = await start({ accounts: [openaiAccount({ client: openai(fake) })], thresholds });
    await dispatcher.enqueueMany(names(20).map(embed));
    await drive(time, fake, () => isAtRest(store, time.now()));
    const outcomes = await Promise.all(names(20).map((name) => dispatcher.result(name)));
    const batches = await dispatcher.batches();
    await dispatcher.stop();
    return { fake, outcomes, batches };
  }

  test("come back with a vector for each input, under the request's own name", async () => {
    const { fake, outcomes, batches } = await embedded({});
    for (const { status, attempts, response, usage } of outcomes) {
      expect([status, attempts, usage?.outputTokens]).toEqual(["succeeded", 1, 0]);
      const body = response?.body as { data?: { index: number; embedding: number[] }[] } | undefined;
      expect(body?.data?.map(({ index, embedding }) => [index, typeof embedding[0]])).toEqual([
        [0, "number"],
        [1, "number"],
      ]);
    }
    const vectors = outcomes.map(({ response }) => JSON.stringify(response?.body.data));
    expect(new Set(vectors).size).toBe(20);
    expect(batches).toMatchObject([{ endpoint: "/v1/embeddings", requests: 20, state: "done" }]);
    expect([...fake.runs().values()]).toEqual(names(20).map(() => 1));
  });

  test("of more inputs than a batch may hold are halved until they fit, and no request is charged", async () => {
    const { fake, outcomes } = await embedded({ limits: { maxEmbeddingInputs: 25 } });
    expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
    expect([...fake.runs().values()]).toEqual(names(20).map(() => 1));
  });
});

test("a file that the service finds too large is halved until it fits", async () => {
  const { time, store, start } = world();
  const fake = fakeProvider({ clock: time, limits: { maxFileBytes: 1_000 } });
  const dispatcher = await start({
    accounts: [openaiAccount({ client: openai(fake) })],
    thresholds: { maxRequests: 8 },
  });
  await dispatcher.enqueueMany(names(8).map((name) => ask(name)));
  await drive(time, fake, () => isAtRest(store, time.now()));
  const { outcomes } = await dispatcher.stats();
  expect(outcomes).toMatchObject({ succeeded: 8, failed: 0 });
});

test("a limit on enqueued tokens at Gemini, which refuses the create, is waited out", async () => {
  const each = cases.find(({ name }) => name === "Gemini") as Case;
  const { outcomes, fake } = await dispatchAll(
    each,
    { limits: { enqueuedTokens: 400, concurrentBatches: 2 } },
    () => {},
  );
  expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
  expect([...fake.runs().values()]).toEqual(names(50).map(() => 1));
});

test("a limit on the jobs of Claude at Vertex AI, which refuses the create, is waited out", async () => {
  const each = cases.find(({ name }) => name === "Vertex AI, with Claude,") as Case;
  const { outcomes, fake } = await dispatchAll(each, { limits: { claudeJobs: 1 } }, () => {});
  expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
  expect([...fake.runs().values()]).toEqual(names(50).map(() => 1));
});

test("a file that Gemini deleted before the create is uploaded again", async () => {
  const each = cases.find(({ name }) => name === "Gemini, in files,") as Case;
  const { outcomes, fake } = await dispatchAll(each, {}, (fake) => {
    const until = START + 50 * 60 * MINUTE;
    fake.inject({ on: "gemini.create", accept: false, reply: { status: 401 }, until });
  });
  expect(outcomes.every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(true);
  expect([...fake.runs().values()]).toEqual(names(50).map(() => 1));
  // Two calls each: the first three files, and the lost ones again.
  expect(fake.calls("geminiFiles.upload")).toBeGreaterThan(6);
});
