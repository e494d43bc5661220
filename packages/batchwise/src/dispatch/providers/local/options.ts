// Options of `localAccount`, checked and filled in once.

import {
  aFunction,
  aString,
  check,
  checkIsObject,
  finiteIntegerFrom,
  invalidOption,
  unboundedIntegerFrom,
} from "../../../core/contract/validate.ts";
import type { AccountOptions, CallOptions } from "../../contract/account.ts";
import type { Endpoint, JsonObject } from "../../contract/types.ts";
import { checkAddress } from "../../format/address.ts";
import { checkKey, secretsInHeaders } from "../shapes/sdk/client-secrets.ts";
import { localCapabilities } from "./capabilities.ts";
import { handlerCall, type LocalHandler } from "./handler-call.ts";
import { httpCall, httpCheck } from "./http-call.ts";
import type { LineRules, MakeCall } from "./line-runner.ts";

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Options of `localAccount`: either `baseURL` or `handler`, and the common account options. */
export interface LocalAccountOptions extends AccountOptions {
  /**
   * Address of a server of OpenAI's format, like an `openai` client's `baseURL`:
   * "http://127.0.0.1:8000/v1".
   */
  readonly baseURL?: string;
  /** Sent as `Authorization: Bearer`. Default: none. */
  readonly apiKey?: string;
  /** Additional headers of each call. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Fields that each call gets, in place of the request's own fields of these names. OpenAI's flex
   * tier: `{ service_tier: "flex" }`.
   */
  readonly extraBody?: JsonObject;
  /** Replaces the global `fetch`, which gives up after 5 minutes without an answer. */
  readonly fetch?: typeof fetch;
  /** Answers one request in this process, in place of a server. */
  readonly handler?: LocalHandler;
  /**
   * Maximum lines that run at once, over all batches of this account in this process. Default 8.
   */
  readonly concurrency?: number;
  /**
   * Maximum repeated calls for one line after 429, 5xx or a lost connection, within one try.
   * Default 3.
   */
  readonly maxRetries?: number;
  /**
   * Maximum bytes of one answer, after decompression. A request with a larger answer fails with
   * `answer_too_large` and is not retried. Default 67_108_864 (64 MiB); `concurrency` answers may
   * be in memory at once.
   */
  readonly maxAnswerBytes?: number;
  /** Timeout of one call, in ms. Default 240_000. */
  readonly lineTimeoutMs?: number;
  /**
   * Endpoints that the server or handler answers. Default: chat completions, completions,
   * embeddings and responses.
   */
  readonly endpoints?: readonly Endpoint[];
}

/** Names of the options that other accounts do not have. */
export const LOCAL_OPTIONS: readonly (keyof LocalAccountOptions)[] = [
  ...(["baseURL", "apiKey", "headers", "extraBody", "fetch", "maxAnswerBytes", "handler"] as const),
  ...(["concurrency", "maxRetries", "lineTimeoutMs", "endpoints"] as const),
];

/** Runs lines, and checks that they can run: a function is always available. */
interface LocalCalls {
  readonly secrets: readonly string[];
  readonly call: MakeCall;
  readonly check: ((call: CallOptions) => Promise<void>) | null;
}

export interface LocalSettings extends LineRules, LocalCalls {
  readonly concurrency: number;
  readonly endpoints: readonly Endpoint[];
}

export function resolveLocalOptions(options: LocalAccountOptions): LocalSettings {
  const { concurrency = 8, maxRetries = 3, lineTimeoutMs = 240_000, endpoints = localCapabilities.endpoints } = options;
  check("concurrency", finiteIntegerFrom(1), concurrency);
  check("maxRetries", unboundedIntegerFrom(0), maxRetries);
  check("lineTimeoutMs", finiteIntegerFrom(1), lineTimeoutMs);
  if (!Array.isArray(endpoints) || endpoints.length === 0) {
    throw invalidOption(TypeError, "Expected `endpoints` to be a list of at least one endpoint");
  }
  for (const endpoint of endpoints) check("endpoints", aString, endpoint);
  return { ...callsOf(options), concurrency, maxRetries, lineTimeoutMs, endpoints: Object.freeze([...endpoints]) };
}

function callsOf(options: LocalAccountOptions): LocalCalls {
  const { baseURL, handler } = options;
  if ((baseURL === undefined) === (handler === undefined)) {
    const got = baseURL === undefined ? "neither" : "both";
    throw invalidOption(TypeError, `Expected either \`baseURL\` or \`handler\`, got ${got}`);
  }
  if (handler === undefined) {
    const server = serverOf(options, baseURL as string);
    return { call: httpCall(server), check: httpCheck(server), secrets: secretsInHeaders(server.headers) };
  }
  check("handler", aFunction, handler);
  for (const name of ["apiKey", "headers", "extraBody", "fetch", "maxAnswerBytes"] as const) {
    if (options[name] !== undefined)
      throw invalidOption(TypeError, `\`${name}\` is for \`baseURL\`, not for \`handler\``);
  }
  return { call: handlerCall(handler), check: null, secrets: [] };
}

function serverOf(options: LocalAccountOptions, baseURL: string) {
  const { apiKey, headers = {}, extraBody = {}, fetch: own, maxAnswerBytes = MAX_ANSWER_BYTES } = options;
  checkAddress("baseURL", baseURL, "give them to the server in `headers`");
  if (apiKey !== undefined) check("apiKey", aString, apiKey);
  if (apiKey !== undefined) checkKey("`apiKey`", apiKey);
  checkIsObject("headers", headers);
  checkIsObject("extraBody", extraBody);
  for (const [name, value] of Object.entries(headers)) {
    check(`headers["${name}"]`, aString, value);
    checkKey(`\`headers["${name}"]\``, value);
  }
  if (own !== undefined) check("fetch", aFunction, own);
  check("maxAnswerBytes", unboundedIntegerFrom(1), maxAnswerBytes);
  const key: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey.trim()}` };
  return {
    baseURL: baseURL.replace(/\/+$/, ""),
    headers: { "content-type": "application/json", accept: "application/json", ...key, ...headers },
    extraBody: structuredClone(extraBody),
    maxAnswerBytes,
    // The current `fetch`: later the global one may be a `batchFetch` over this account.
    fetch: own ?? globalThis.fetch,
  };
}
