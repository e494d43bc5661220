// Checks the accounts and the store passed to createDispatcher. If it gets a client, list or
// function instead, the error names the call that makes the right object. Pure.

import { describe } from "../../core/contract/errors.ts";
import { ignoreIfPromise } from "../../core/contract/thenable.ts";
import {
  aboveZero,
  aString,
  check,
  invalidOption,
  objectWith,
  type Rule,
  zeroOrMore,
} from "../../core/contract/validate.ts";
import type { Account } from "../contract/account.ts";
import type { Store } from "../contract/store/store.ts";

const STORE_METHODS = [
  "enqueue",
  "amend",
  "probe",
  "seal",
  "lease",
  "transition",
  "requests",
  "settle",
  "outcomes",
  "deliveries",
  "batches",
  "find",
  "usage",
  "marks",
  "prune",
  "close",
] as const;

const ACCOUNT_METHODS = ["encodeLine", "checkBody", "create", "list", "retrieve", "results", "cancel", "classify"];

export const nonEmptyString: Rule = {
  ...aString,
  expected: "a string that is not empty",
  test: (value: string) => value !== "",
};

/** Throws TypeError with `code: "INVALID_OPTION"` for a value that is not a store. */
export function checkStore(store: unknown): asserts store is Store {
  const missing = missingOf(store, STORE_METHODS);
  if (missing.length === 0) return;
  const wanted = "Expected `store` to be a store, as `sqliteStore({ path })` makes it";
  throw invalidOption(TypeError, `${wanted}, got ${given(store, missing, STORE_METHODS)}`);
}

/** The accounts by name. Throws TypeError or RangeError with `code: "INVALID_OPTION"`. */
export function resolveAccounts(accounts: readonly Account[], leaseMs: number): ReadonlyMap<string, Account> {
  if (!Array.isArray(accounts)) {
    const one = missingOf(accounts, ACCOUNT_METHODS).length === 0 ? ": write `accounts: [account]`" : "";
    throw invalidOption(TypeError, `Expected \`accounts\` to be an array of accounts, got ${describe(accounts)}${one}`);
  }
  if (accounts.length === 0) throw invalidOption(RangeError, "Expected `accounts` to hold at least one account");
  const byName = new Map<string, Account>();
  for (const [index, account] of (accounts as readonly Account[]).entries()) {
    const place = `accounts[${index}]`;
    checkAccount(place, account);
    if (byName.has(account.name)) {
      throw invalidOption(
        RangeError,
        `Expected account names to be unique, got \`${account.name}\` twice: give each its own, as in \`openaiAccount({ name: "second", client })\``,
      );
    }
    if (account.requestTimeoutMs >= leaseMs) {
      const message = `Expected \`leaseMs\` to exceed the requestTimeoutMs of account \`${account.name}\` (${account.requestTimeoutMs}), got \`${leaseMs}\` (number)`;
      throw invalidOption(RangeError, message);
    }
    byName.set(account.name, account);
  }
  return byName;
}

function checkAccount(place: string, account: Account): void {
  const missing = missingOf(account, ACCOUNT_METHODS);
  if (missing.length > 0) {
    const factory = factoryFor(account);
    const hint = factory === null ? "" : `. Wrap the client: \`${factory}\``;
    const wanted = `Expected \`${place}\` to be an account, as \`${factory ?? "openaiAccount({ client })"}\` makes it`;
    throw invalidOption(TypeError, `${wanted}, got ${given(account, missing, ACCOUNT_METHODS)}${hint}`);
  }
  check(`${place}.name`, nonEmptyString, account.name);
  check(`${place}.weight`, aboveZero, account.weight);
  check(`${place}.pollMs`, aboveZero, account.pollMs);
  check(`${place}.requestTimeoutMs`, aboveZero, account.requestTimeoutMs);
  check(`${place}.reconcileGraceMs`, zeroOrMore, account.reconcileGraceMs);
  checkCapabilities(`${place}.capabilities`, account.capabilities);
  checkSecrets(`${place}.secrets()`, account);
}

/** Secrets that cannot be read are not blanked. An account that throws here may know them later. */
function checkSecrets(place: string, account: Account): void {
  let secrets: unknown;
  try {
    secrets = account.secrets?.() ?? [];
  } catch {
    return;
  }
  ignoreIfPromise(secrets);
  if (Array.isArray(secrets) && secrets.every((each) => typeof each === "string")) return;
  // A text in place of the list is a secret itself, so no value is shown.
  const got = typeof secrets === "object" ? describe(secrets) : `a ${typeof secrets}`;
  throw invalidOption(TypeError, `Expected \`${place}\` to be an array of strings, got ${got}`);
}

/** Lane names contain endpoints. In them a space and a "#" have a meaning of their own. */
function checkCapabilities(place: string, capabilities: Account["capabilities"]): void {
  check(place, objectWith(), capabilities);
  const { endpoints, maxInlineBytes } = capabilities;
  check(`${place}.maxInlineBytes`, zeroOrMore, maxInlineBytes);
  const expected = "a text without a space or a #";
  const test = (endpoint: string): boolean => /^[^\s#]+$/.test(endpoint);
  for (const endpoint of endpoints) check(`${place}.endpoints`, { ...nonEmptyString, expected, test }, endpoint);
}

/**
 * The call that makes an account of this official client, recognised by its shape; null for any
 * other value.
 */
function factoryFor(client: unknown): string | null {
  if (fieldOf(client, "createModelInvocationJob") !== undefined) return "bedrockAccount({ client, storage, roleArn })";
  if (fieldOf(client, "vertexai") === true) return "vertexAccount({ client, storage })";
  if (fieldOf(client, "messages", "batches") !== undefined) return "anthropicAccount({ client })";
  if (fieldOf(client, "batch", "jobs") !== undefined) return "mistralAccount({ client })";
  if (fieldOf(client, "models", "generateContent") !== undefined) return "geminiAccount({ client })";
  return fieldOf(client, "batches") === undefined ? null : "openaiAccount({ client })";
}

/** Describes the value, and the methods that it lacks if it has some. */
function given(value: unknown, missing: readonly string[], all: readonly string[]): string {
  if (typeof value === "function") return "a function: call it";
  if (typeof fieldOf(value, "then") === "function") return "a promise: await it";
  const lacks = missing.length < all.length ? ` without ${missing.join(", ")}` : "";
  return `${describe(value)}${lacks}`;
}

function missingOf(value: unknown, methods: readonly string[]): readonly string[] {
  return methods.filter((method) => typeof fieldOf(value, method) !== "function");
}

function fieldOf(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as { readonly [name: string]: unknown })[name];
  }
  return at;
}
