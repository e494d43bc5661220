// Accounts of providers that are known by one key: OpenAI, Anthropic, Gemini and Mistral.

import type { Account } from "batchwise/dispatch";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { mistralAccount } from "batchwise/dispatch/mistral";
import { openaiAccount } from "batchwise/dispatch/openai";
import type { AccountFlags } from "../common/arguments.ts";
import { CommandError } from "../common/failures.ts";
import { loadClient } from "../common/packages.ts";
import { addressIn, type CommonOptions, commonOptions, keyIn, variable } from "./account-flags.ts";
import type { OpenAccount } from "./opened.ts";

export type KeyProvider = "openai" | "anthropic" | "gemini" | "mistral";

interface Provider {
  /** Variables with the key, as its client reads them: the first that is set counts. */
  readonly keys: readonly [string, ...string[]];
  /** The variable with another address, where its client reads one. */
  readonly address: string | null;
  /** Where its API is otherwise. */
  readonly url: string;
  readonly package: string;
  /** The client's name in its package. */
  readonly client: string;
  /** What its client is made with. */
  settings(baseUrl: string | undefined, key: string): object;
  account(client: never, options: CommonOptions): Account;
}

const PROVIDERS: Readonly<Record<KeyProvider, Provider>> = {
  openai: {
    ...{ keys: ["OPENAI_API_KEY"], address: "OPENAI_BASE_URL", url: "https://api.openai.com/v1" },
    ...{ package: "openai", client: "OpenAI" },
    settings: (baseURL) => (baseURL === undefined ? {} : { baseURL }),
    account: (client, options) => openaiAccount({ client, ...options }),
  },
  anthropic: {
    ...{ keys: ["ANTHROPIC_API_KEY"], address: "ANTHROPIC_BASE_URL", url: "https://api.anthropic.com" },
    ...{ package: "@anthropic-ai/sdk", client: "Anthropic" },
    settings: (baseURL) => (baseURL === undefined ? {} : { baseURL }),
    account: (client, options) => anthropicAccount({ client, ...options }),
  },
  gemini: {
    ...{ keys: ["GEMINI_API_KEY", "GOOGLE_API_KEY"], address: "GOOGLE_GEMINI_BASE_URL" },
    ...{ url: "https://generativelanguage.googleapis.com", package: "@google/genai", client: "GoogleGenAI" },
    // `vertexai: false` whatever GOOGLE_GENAI_USE_VERTEXAI says: that is another account.
    settings: (baseUrl, apiKey) => ({
      ...{ vertexai: false, apiKey },
      ...(baseUrl === undefined ? {} : { httpOptions: { baseUrl } }),
    }),
    account: (client, options) => geminiAccount({ client, ...options }),
  },
  mistral: {
    ...{ keys: ["MISTRAL_API_KEY"], address: null, url: "https://api.mistral.ai" },
    ...{ package: "@mistralai/mistralai", client: "Mistral" },
    settings: (serverURL, apiKey) => ({ apiKey, ...(serverURL === undefined ? {} : { serverURL }) }),
    account: (client, options) => mistralAccount({ client, ...options }),
  },
};

export function keyNames(name: KeyProvider): readonly [string, ...string[]] {
  return PROVIDERS[name].keys;
}

/** The variable that has the key; null where none has. */
export function keyNameOf(name: KeyProvider, environment: NodeJS.ProcessEnv = process.env): string | null {
  return PROVIDERS[name].keys.find((key) => variable(key, environment) !== null) ?? null;
}

export async function openWithKey(name: KeyProvider, flags: AccountFlags): Promise<OpenAccount> {
  const provider = PROVIDERS[name];
  const keyName = keyNameOf(name);
  if (keyName === null) {
    const [wanted] = provider.keys;
    throw new CommandError(`${wanted} is not set, and --account ${name} needs it: export ${wanted}=...`);
  }
  const key = keyIn(keyName) ?? "";
  const own = provider.address === null ? null : addressIn(provider.address);
  const Client = await loadClient(provider.package, provider.client, `--account ${name}`);
  const client = new Client(provider.settings(flags.baseUrl, key));
  const account = provider.account(client as never, commonOptions(flags));
  const url = flags.baseUrl ?? own ?? provider.url;
  return {
    ...{ account, url, credentials: `the key in ${keyName}` },
    address: provider.address === null ? "--base-url" : `--base-url / ${provider.address}`,
    advice: `Check ${keyName}, the account's billing, and --base-url.`,
    buckets: [],
  };
}
