// Provider accounts from the environment: the official client of the user's project, with the key from the usual variable.

import type { Account } from "batchwise/dispatch";
import { anthropicAccount } from "batchwise/dispatch/anthropic";
import { openaiAccount } from "batchwise/dispatch/openai";
import type { AccountFlags } from "./arguments.ts";
import { CommandError, EXIT, wordsOf } from "./failures.ts";
import { loadPackage } from "./packages.ts";

interface Provider {
  /** Variables with the key and the address, as its client reads them. */
  readonly key: string;
  readonly address: string;
  readonly package: string;
}

const PROVIDERS: Readonly<Record<"openai" | "anthropic", Provider>> = {
  openai: { key: "OPENAI_API_KEY", address: "OPENAI_BASE_URL", package: "openai" },
  anthropic: { key: "ANTHROPIC_API_KEY", address: "ANTHROPIC_BASE_URL", package: "@anthropic-ai/sdk" },
};

export interface OpenAccount {
  readonly account: Account;
  /** Variables with the key and the address. */
  readonly keyName: string;
  readonly addressName: string;
  /** Where its API is. */
  readonly url: string;
}

/** What is wrong with an account, and what to do about it. */
export interface AccountFault {
  readonly found: string;
  readonly advice: string;
  readonly exitCode: number;
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
  const { key, address, package: packageName } = PROVIDERS[name];
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
  return { account, keyName: key, addressName: address, url: client.baseURL };
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value.trim() !== "";
}

const CHECK_MS = 30_000;

/** A CommandError where the account has a fault. */
export async function checkAccount(opened: OpenAccount): Promise<void> {
  const fault = await accountFault(opened);
  if (fault === null) return;
  throw new CommandError(`${fault.found.replace(/\.$/, "")}. ${fault.advice}`, fault.exitCode);
}

/** Asks for one page of batches, which costs nothing. null where the account works. */
export async function accountFault(opened: OpenAccount): Promise<AccountFault | null> {
  const { account } = opened;
  const timeoutMs = Math.min(CHECK_MS, account.requestTimeoutMs);
  const call = { signal: AbortSignal.timeout(timeoutMs), timeoutMs };
  try {
    await account.list({ cursor: null, limit: 1 }, call);
    return null;
  } catch (error) {
    return faultOf(error, opened);
  }
}

function faultOf(error: unknown, { account, keyName, addressName, url }: OpenAccount): AccountFault | null {
  const { kind } = account.classify(error, "list");
  if (kind === "rateLimited") return null;
  const words = wordsOf(error);
  if (kind === "authOrBilling") {
    const advice = `Check ${keyName}, the account's billing, and --base-url.`;
    return { found: `${url} refuses the key in ${keyName}: ${words}`, advice, exitCode: EXIT.usage };
  }
  const address = `--base-url / ${addressName}`;
  if (!isAnswer(error)) {
    const advice = `Check ${address}, and the network.`;
    return { found: `nobody answers at ${url}: ${words}`, advice, exitCode: EXIT.failed };
  }
  const advice = `Check ${address}; if it is right, the provider has trouble: try again later.`;
  return { found: `${url} does not answer as it should: ${words}`, advice, exitCode: EXIT.failed };
}

/** Official clients give errors that are answers the status. */
function isAnswer(error: unknown): boolean {
  return error instanceof Error && "status" in error && typeof error.status === "number";
}
