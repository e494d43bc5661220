// Makes provider accounts from the environment: with the official client of the user's project,
// which reads its key or credentials from its usual variables.

import type { AccountFlags, ProviderName } from "../common/arguments.ts";
import { CommandError } from "../common/failures.ts";
import { webAddress } from "./account-flags.ts";
import { openBedrock, openVertex } from "./cloud-accounts.ts";
import { type KeyProvider, keyNameOf, keyNames, openWithKey } from "./key-accounts.ts";
import { openLocal } from "./local-account.ts";
import type { OpenAccount } from "./opened.ts";

/** The provider, from the flag or from the key that is set; null if there is neither. */
export function chooseProvider(
  { account }: AccountFlags,
  environment: NodeJS.ProcessEnv = process.env,
): ProviderName | null {
  if (account !== undefined) return account;
  return keyProviders().find((name) => keyNameOf(name, environment) !== null) ?? null;
}

function keyProviders(): KeyProvider[] {
  return ["openai", "anthropic", "gemini", "mistral"];
}

/** The variables of which one must be exported to choose an account by its key. */
export function wantedKeys(): string {
  const names = keyProviders().map((name) => keyNames(name)[0]);
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

/**
 * Makes the account. Throws a CommandError if its key, client, bucket or role is missing. Does not
 * call the provider.
 */
export async function openAccount(flags: AccountFlags): Promise<OpenAccount> {
  const name = chooseProvider(flags);
  if (name === null) {
    const example = "for example export OPENAI_API_KEY=sk-...";
    throw new CommandError(`No provider's key is set: export ${wantedKeys()}, ${example}; or name one by --account`);
  }
  checkFlags(name, flags);
  if (flags.baseUrl !== undefined) webAddress("--base-url", flags.baseUrl);
  if (name === "vertex") return openVertex(flags);
  if (name === "bedrock") return openBedrock(flags);
  return name === "local" ? openLocal(flags) : openWithKey(name, flags);
}

/** Accounts that take an option which others do not. */
const ONLY: Readonly<Record<"bucket" | "roleArn" | "concurrency", readonly ProviderName[]>> = {
  bucket: ["vertex", "bedrock"],
  roleArn: ["bedrock"],
  concurrency: ["local"],
};
const OPTIONS = { bucket: "--bucket", roleArn: "--role-arn", concurrency: "--concurrency" } as const;

function checkFlags(name: ProviderName, flags: AccountFlags): void {
  for (const [flag, accounts] of Object.entries(ONLY) as [keyof typeof ONLY, readonly ProviderName[]][]) {
    if (flags[flag] === undefined || accounts.includes(name)) continue;
    throw new CommandError(`${OPTIONS[flag]} is for --account ${accounts.join(" and ")}, not for ${name}`);
  }
}
