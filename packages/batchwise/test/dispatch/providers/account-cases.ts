// The tested adapters, each over the official client of its provider.

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { HTTPClient, Mistral } from "@mistralai/mistralai";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { type GeminiClient, geminiAccount } from "batchwise/dispatch/gemini";
import { mistralAccount } from "batchwise/dispatch/mistral";
import { type OpenAiClient, type OpenAiServiceName, openaiAccount, openaiServices } from "batchwise/dispatch/openai";
import { type FakeProvider, fakeFaults } from "batchwise/dispatch/testing";
import { voyageAccount } from "batchwise/dispatch/voyage";
import { xaiAccount } from "batchwise/dispatch/xai";
import OpenAI from "openai";
import type { Adapter } from "./account-suite.ts";

/** The client class of one version, with the options that the tests use. */
type OpenAiClass = new (options: {
  readonly apiKey: string;
  readonly baseURL: string;
  readonly fetch?: FakeProvider["fetch"];
}) => OpenAiClient;

export const openaiCaseOf = (name: string, Client: OpenAiClass): Adapter => ({
  name,
  create: "batches.create",
  account: (target) => {
    const client =
      "url" in target
        ? new Client({ apiKey: "key", baseURL: `${target.url}/v1` })
        : new Client({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: target.fetch });
    return openaiAccount({ client });
  },
});

export const openaiCase: Adapter = openaiCaseOf("the OpenAI account", OpenAI);

/** An OpenAI-compatible service, which is a dialect of the fake. */
const serviceCase = (service: OpenAiServiceName): Adapter => ({
  name: `the OpenAI account at ${service}`,
  create: "batches.create",
  fake: { dialect: service },
  differs: { neverExpires: service === "azure" },
  account: (target) => {
    const client =
      "url" in target
        ? new OpenAI({ apiKey: "key", baseURL: `${target.url}/v1` })
        : new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: target.fetch });
    return openaiAccount({ client, service });
  },
});

const SERVICES = Object.keys(openaiServices) as OpenAiServiceName[];

/** Each service with a record, but OpenAI. */
export const serviceCases: readonly Adapter[] = SERVICES.filter((name) => name !== "openai").map(serviceCase);

export const voyageCase: Adapter = {
  name: "the Voyage account",
  create: "batches.create",
  fake: { dialect: "voyage" },
  differs: { windowMs: 12 * 3_600_000 },
  account: (target) => {
    const client =
      "url" in target
        ? new OpenAI({ apiKey: "key", baseURL: `${target.url}/v1` })
        : new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: target.fetch });
    return voyageAccount({ client });
  },
};

/** xAI's words for a team without money. */
const SPENT =
  "Your team has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.";

export const xaiCase: Adapter = {
  name: "the xAI account",
  create: "batches.create",
  fake: { dialect: "xai" },
  differs: {
    noMoney: {
      on: "batches.create",
      accept: false,
      reply: { status: 429, body: { code: "Some resource has been exhausted", error: SPENT } },
    },
    surface: "xai",
    neverExpires: true,
  },
  account: (target) => {
    const client =
      "url" in target
        ? new OpenAI({ apiKey: "key", baseURL: `${target.url}/v1` })
        : new OpenAI({ apiKey: "key", baseURL: "http://fake.test/v1", fetch: target.fetch });
    return xaiAccount({ client });
  },
};

export const anthropicCase: Adapter = {
  name: "the Anthropic account",
  create: "messages.create",
  account: (target) => {
    const client =
      "url" in target
        ? new Anthropic({ apiKey: "key", baseURL: target.url })
        : new Anthropic({ apiKey: "key", baseURL: "http://fake.test", fetch: target.fetch });
    return anthropicAccount({ client });
  },
};

/** The client class of one version, with the options that the tests use. */
type GoogleClass = new (options: {
  readonly apiKey: string;
  readonly httpOptions: { readonly baseUrl: string; readonly fetch?: FakeProvider["fetch"] };
}) => GeminiClient;

/** All batches in files, or inline up to this size. */
export const geminiCase = (name: string, maxInlineBytes: number, Client: GoogleClass = GoogleGenAI): Adapter => ({
  name,
  create: "gemini.create",
  differs: {
    noMoney: fakeFaults.prepaymentExhausted,
    surface: "gemini",
    windowMs: 48 * 3_600_000,
    endsEmpty: true,
  },
  account: (target) => {
    const httpOptions =
      "url" in target ? { baseUrl: target.url } : { baseUrl: "http://fake.test", fetch: target.fetch };
    return geminiAccount({ client: new Client({ apiKey: "key", httpOptions }), maxInlineBytes });
  },
});

export const geminiInlineCase: Adapter = geminiCase("the Gemini account, inline", 200_000);
export const geminiFileCase: Adapter = geminiCase("the Gemini account, with files", 0);

export const mistralCase: Adapter = {
  name: "the Mistral account",
  create: "jobs.create",
  differs: { noMoney: fakeFaults.planExhausted, surface: "mistral" },
  fake: { dialect: "mistral" },
  account: (target) => {
    const client =
      "url" in target
        ? new Mistral({ apiKey: "key", serverURL: target.url })
        : new Mistral({
            apiKey: "key",
            serverURL: "http://fake.test",
            httpClient: new HTTPClient({ fetcher: (input, init) => target.fetch(input, init) }),
          });
    return mistralAccount({ client });
  },
};
