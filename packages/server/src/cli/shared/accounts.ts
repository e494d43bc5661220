// Provider accounts from the environment: the official client of the user's project, with the key from the usual variable.

import type { Account } from "batchwise/dispatch";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import type { AccountFlags } from "./arguments.ts";
import { CommandError, EXIT, wordsOf } from "./failures.ts";
import { loadPackage } from "./packages.ts";

interface Provider {
  readonly key: string;
  readonly package: string;
}

const PROVIDERS: Readonly<Record<"openai" | "anthropic", Provider>> = {
  openai: { key: "OPENAI_API_KEY", package: "openai" },
  anthropic: { key: "ANTHROPIC_API_KEY", package: "@anthropic-ai/sdk" },
};

export interface OpenAccount {
  readonly account: Account;
  readonly keyName: string;
  /** Where its API is. */
  readonly url: string;
}

interface Client {
  readonly baseURL: string;
}

type ClientClass = new (options: object) => Client;

/** Which provider, by flag or by the key that is set; null when no key is set and none was asked for. */
export function chooseProvider(
  { account }: AccountFlags,
  environment: NodeJS.ProcessEnv = process.env,
): "openai" | "anthropic" | null {
  if (account !== undefined) return account;
  return (["openai", "anthropic"] as const).find((name) => isSet(environment[PROVIDERS[name].key])) ?? null;
}

/** Makes the account; a CommandError where its key or its client is missing. Calls nothing. */
export function openAccount(flags: AccountFlags): OpenAccount {
  const name = chooseProvider(flags);
  if (name === null) {
    const keys = "OPENAI_API_KEY or ANTHROPIC_API_KEY";
    throw new CommandError(`No provider's key is set: export ${keys}, for example export OPENAI_API_KEY=sk-...`);
  }
  const { key, package: packageName } = PROVIDERS[name];
  if (!isSet(process.env[key])) {
    throw new CommandError(`${key} is not set, and --account ${name} needs it: export ${key}=...`);
  }
  const { baseUrl, pollMs, requestTimeoutMs, reconcileGraceMs } = flags;
  const loaded = loadPackage<ClientClass & { readonly default?: ClientClass }>(packageName, `--account ${name}`);
  const Client = loaded.default ?? loaded;
  const client = new Client(baseUrl === undefined ? {} : { baseURL: baseUrl });
  const options = {
    ...{ client: client as never },
    ...(pollMs === undefined ? {} : { pollMs }),
    ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
    ...(reconcileGraceMs === undefined ? {} : { reconcileGraceMs }),
  };
  const account = name === "openai" ? openaiAccount(options) : anthropicAccount(options);
  return { account, keyName: key, url: client.baseURL };
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value.trim() !== "";
}

const CHECK_MS = 30_000;

/** Asks for one page of batches, which costs nothing. A CommandError where the key is refused or nobody answers. */
export async function checkAccount({ account, keyName, url }: OpenAccount): Promise<void> {
  const timeoutMs = Math.min(CHECK_MS, account.requestTimeoutMs);
  const call = { signal: AbortSignal.timeout(timeoutMs), timeoutMs };
  try {
    await account.list({ cursor: null, limit: 1 }, call);
  } catch (error) {
    const { kind } = account.classify(error, "list");
    if (kind === "authOrBilling") throw new CommandError(`${url} refuses the key in ${keyName}: ${wordsOf(error)}`);
    if (kind === "rateLimited") return;
    throw new CommandError(`${url} does not answer as it should: ${wordsOf(error)}`, EXIT.failed, error);
  }
}
