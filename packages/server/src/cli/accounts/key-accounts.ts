// Accounts of providers that need only a key: OpenAI, Anthropic, Gemini, Mistral, Voyage and xAI.

import type { Account } from "batchwise/dispatch";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { geminiAccount } from "batchwise/dispatch/gemini";
import { mistralAccount } from "batchwise/dispatch/mistral";
import { openaiAccount } from "batchwise/dispatch/openai";
import { voyageAccount } from "batchwise/dispatch/voyage";
import { xaiAccount } from "batchwise/dispatch/xai";
import type { AccountFlags } from "../common/arguments.ts";
import { CommandError } from "../common/failures.ts";
import { loadClient } from "../common/packages.ts";
import { addressIn, type CommonOptions, commonOptions, keyIn, variable } from "./account-flags.ts";
import type { OpenAccount } from "./opened.ts";

export type KeyProvider = "openai" | "anthropic" | "gemini" | "mistral" | "voyage" | "xai";

interface Provider {
  /** Variables with the key, in the client's order: the first that is set is used. */
  readonly keys: readonly [string, ...string[]];
  /** The variable with another address, if the client reads one. */
  readonly address: string | null;
  /** The API's default address. */
  readonly url: string;
  readonly package: string;
  /** The name of the client class in its package. */
  readonly client: string;
  /** The options of the client's constructor. */
  settings(baseUrl: string | undefined, key: string): object;
  account(client: never, options: CommonOptions): Account;
}

const VOYAGE = "https://api.voyageai.com/v1";
const XAI = "https://api.x.ai/v1";

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
    // `vertexai: false` overrides GOOGLE_GENAI_USE_VERTEXAI, which selects another account.
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
  voyage: {
    ...{ keys: ["VOYAGE_API_KEY"], address: null, url: VOYAGE, package: "openai", client: "OpenAI" },
    settings: (baseURL = VOYAGE, apiKey) => ({ apiKey, baseURL }),
    account: (client, options) => voyageAccount({ client, ...options }),
  },
  xai: {
    ...{ keys: ["XAI_API_KEY"], address: null, url: XAI, package: "openai", client: "OpenAI" },
    settings: (baseURL = XAI, apiKey) => ({ apiKey, baseURL }),
    account: (client, options) => xaiAccount({ client, ...options }),
  },
};

export function keyNames(name: KeyProvider): readonly [string, ...string[]] {
  return PROVIDERS[name].keys;
}

/** The name of the variable that holds the key; null if none is set. */
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
