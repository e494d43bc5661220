// The options of providerWebhook, checked once.

import {
  aString,
  check,
  checkIsObject,
  finiteIntegerFrom,
  invalidOption,
  refuseUnknown,
} from "../../../core/contract/validate.ts";
import { checkAddress } from "../../format/address.ts";
import { LEAST_RUN_MS } from "../../options/call-options.ts";

/** A public key, as in the `keys` of a JSON Web Key Set. */
export interface SigningKey {
  readonly kty: string;
  readonly kid?: string;
  readonly [field: string]: unknown;
}

/** Options of `providerWebhook`. At least one of `secrets` and `keySet`. */
export interface ProviderWebhookOptions {
  /**
   * The secrets with which providers sign their events, as they show them (`whsec_…`). Several are
   * for several providers, or for an old and a new one of the same. At least 16 characters each.
   */
  readonly secrets?: string | readonly string[];
  /**
   * For Gemini's events of single jobs (`geminiAccount({ webhookConfig })`), which are signed with
   * Google's keys: the address of the key set,
   * `https://generativelanguage.googleapis.com/.well-known/jwks.json`, or the keys. Keys from an
   * address are kept. Default: such events are refused.
   */
  readonly keySet?: string | URL | { readonly keys: readonly SigningKey[] };
  /** The accepted audience of such events, or several. Default: any. */
  readonly audience?: string | readonly string[];
  /**
   * In ms, from 100: where no process stays, the handler also calls `runDue` with this as `maxMs`
   * before it answers. Default: it leaves the work to others.
   */
  readonly runMs?: number;
}

export interface ProviderWebhookPlan {
  readonly secrets: readonly string[];
  /** null: tokens are refused. */
  readonly keySet: string | readonly SigningKey[] | null;
  readonly audience: readonly string[];
  readonly runMs: number | null;
}

const LEAST = 16;
const PREFIX = "whsec_";

function isSecret(value: unknown): value is string {
  if (typeof value !== "string" || value.length < LEAST) return false;
  return !value.startsWith(PREFIX) || isBase64(value.slice(PREFIX.length));
}

function isBase64(text: string): boolean {
  return /^[\w+/-]+={0,2}$/.test(text) && Buffer.from(text, "base64").length >= LEAST;
}

/** Says what is wrong with a secret without quoting it. */
export function providerWebhookOptions(given: ProviderWebhookOptions): ProviderWebhookPlan {
  checkIsObject("options", given);
  refuseUnknown(given, ["secrets", "keySet", "audience", "runMs"], "", {
    "secret webhookSecret key": "it is `secrets` here: one or several",
    "jwks jwksUri keys": "it is `keySet` here: the address of the keys, or the keys",
  });
  const { runMs = null } = given;
  if (runMs !== null) check("runMs", finiteIntegerFrom(LEAST_RUN_MS), runMs);
  const keySet = given.keySet === undefined ? null : keySetOf(given.keySet);
  const audience = given.audience === undefined ? [] : list(given.audience);
  for (const one of audience) check("audience", { ...aString, test: (text: string) => text !== "" }, one);
  const secrets = given.secrets === undefined ? [] : list(given.secrets);
  const isEnough = given.secrets === undefined ? keySet !== null : secrets.length > 0;
  if (isEnough && secrets.every(isSecret)) return { secrets, keySet, audience, runMs };
  const wanted = `Expected \`secrets\` to be one or several secrets of at least ${LEAST} characters`;
  throw invalidOption(TypeError, `${wanted}, in base64 after \`${PREFIX}\`: one is missing, shorter or no base64`);
}

function list(value: string | readonly string[]): readonly string[] {
  return Array.isArray(value) ? (value as readonly string[]) : [value as string];
}

function keySetOf(given: NonNullable<ProviderWebhookOptions["keySet"]>): string | readonly SigningKey[] {
  if (typeof given === "string" || typeof Object(given).href === "string") {
    checkAddress("keySet", String(given), "a key set is public");
    return String(given);
  }
  const keys: unknown = Object(given).keys;
  const isKey = (key: unknown): boolean => typeof Object(key).kid === "string" && Object(key).kty === "RSA";
  if (Array.isArray(keys) && keys.some(isKey)) return keys as readonly SigningKey[];
  throw invalidOption(
    TypeError,
    "Expected `keySet` to be an address, or `{ keys }` with at least one RSA key and its `kid`",
  );
}
