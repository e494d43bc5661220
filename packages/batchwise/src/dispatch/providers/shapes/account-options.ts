// Options that every account factory takes, checked and filled in once. Pure.

import {
  aBoolean,
  aboveZero,
  aString,
  check,
  checkIsObject,
  type Rule,
  refuseUnknown,
  unboundedIntegerFrom,
} from "../../../core/contract/validate.ts";
import type { Account, AccountOptions } from "../../contract/account.ts";
import type { Capabilities, ProviderLimits } from "../../contract/capabilities.ts";
import { type OptionTable, readOptions } from "../../format/option-table.ts";
import { checkClientKeys, secretsOfClient } from "./sdk/client-secrets.ts";

const aFullString: Rule = { ...aString, expected: "a non-empty string", test: (text: string) => text !== "" };
/** Options that need no other one. A given null counts as absent, except for `fallback`. */
const PLAIN = {
  name: [aFullString, null],
  weight: [aboveZero, null],
  pollMs: [unboundedIntegerFrom(1), null],
  requestTimeoutMs: [unboundedIntegerFrom(1), null],
  reconcileGraceMs: [unboundedIntegerFrom(0), null],
  cleanup: [aBoolean, null],
  checkBodies: [aBoolean, null],
  fallback: [aBoolean, false],
} satisfies OptionTable<AccountOptions>;
const COMMON = [...Object.keys(PLAIN), "limits", "models"];

/** Option names of SDKs and other libraries, with ours. */
const HINTS: Readonly<Record<string, string>> = {
  apiKey: "it is an option of the SDK's client, which is `client` here",
  "waitTime pollInterval": "it is `pollMs` here: the pause between polls, in milliseconds",
  timeout: "it is `requestTimeoutMs` here: for one call of the provider, in milliseconds",
  model: "it is `models` here: those that the account serves",
};
const LIMITS: readonly (keyof ProviderLimits)[] = [
  "maxRequests",
  "maxBytes",
  "maxTokens",
  "minRequests",
  "maxEnqueuedTokens",
  "maxEnqueuedRequests",
  "maxEnqueuedBatches",
  "maxCreatesPerHour",
  "maxInputs",
];

/** The plain fields of an Account. */
export type AccountSettings = Pick<
  Account,
  "name" | "capabilities" | "models" | "weight" | "pollMs" | "requestTimeoutMs" | "reconcileGraceMs"
> & {
  readonly checkBodies: boolean;
  /** Current secrets, which must not appear in errors or logs. */
  readonly secrets: () => readonly string[];
  /** Whether the account has a `cleanup`. */
  readonly cleanup: boolean;
};

/** `own`: option names of this factory. The user's limits override those of the capabilities. */
export function resolveAccountOptions(
  options: AccountOptions & object,
  own: readonly string[],
  capabilities: Capabilities,
): AccountSettings {
  refuseUnknown(options, [...COMMON, ...own], "", HINTS);
  const { client } = options as { readonly client?: unknown };
  checkClientKeys(client);
  const { fallback, ...plain } = readOptions(options, PLAIN);
  const models = options.models === undefined ? null : Object.freeze([...options.models]);
  for (const model of models ?? []) check("models", aString, model);
  const capable = fallback ? Object.freeze({ ...capabilities, fallback }) : capabilities;
  return Object.freeze({
    name: plain.name ?? capabilities.provider,
    models,
    weight: plain.weight ?? 1,
    pollMs: plain.pollMs ?? 30_000,
    requestTimeoutMs: plain.requestTimeoutMs ?? 60_000,
    reconcileGraceMs: plain.reconcileGraceMs ?? 300_000,
    cleanup: plain.cleanup ?? false,
    checkBodies: plain.checkBodies ?? true,
    secrets: () => secretsOfClient(client),
    capabilities: withLimits(capable, options.limits),
  });
}

function withLimits(capabilities: Capabilities, limits: Partial<ProviderLimits> | undefined): Capabilities {
  checkIsObject("limits", limits);
  if (limits === undefined) return capabilities;
  refuseUnknown(limits, LIMITS, "limits.");
  for (const [name, value] of Object.entries(limits)) check(`limits.${name}`, unboundedIntegerFrom(1), value);
  return Object.freeze({ ...capabilities, limits: Object.freeze({ ...capabilities.limits, ...limits }) });
}
