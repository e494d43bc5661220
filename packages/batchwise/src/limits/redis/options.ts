// The options of a limiter in Redis, checked once. The rates are those of `rateLimiter`.

import {
  aFunction,
  check,
  checkIsObject,
  finiteIntegerFrom,
  type Rule,
  refuseUnknown,
} from "../../core/contract/validate.ts";
import {
  HINTS,
  type RateLimiterOptions,
  type ResolvedRateLimiterOptions,
  resolveRateLimiterOptions,
} from "../options.ts";
import type { RedisClient } from "./client.ts";

/**
 * Options of `redisRateLimiter`. At least one of the two rates must be given; all processes must
 * give the same.
 */
export interface RedisRateLimiterOptions extends RateLimiterOptions {
  /**
   * A client of ioredis or its `Cluster` (with `call`), or a client of node-redis (with
   * `sendCommand`), connected. Never ended.
   */
  readonly client: RedisClient;
  /** What the limit is kept under: limiters with the same key share it. No braces. */
  readonly key: string;
  /**
   * At least so many processes share the limit. One that loses Redis takes 1 / `processes` of the
   * limit, or less where Redis has told it of more processes. Integer >= 1. Default: as many as
   * Redis has told of last; one that was never told waits for Redis.
   */
  readonly processes?: number | undefined;
  /**
   * Redis counts as gone when it has not answered for this long, in milliseconds. 1 to 500. Default
   * 250.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Told when the limit is kept by shares, with the error that led to it, and when it is kept in
   * Redis again. What it throws is ignored. Kept as long as the limiter.
   */
  readonly onState?: ((state: "shares" | "redis", error: unknown) => void) | undefined;
}

/** The options in force. */
export interface ResolvedRedisOptions extends ResolvedRateLimiterOptions {
  readonly client: RedisClient;
  readonly key: string;
  /** null: not given. */
  readonly processes: number | null;
  readonly timeoutMs: number;
  readonly onState: (state: "shares" | "redis", error: unknown) => void;
}

/**
 * A `sendCommand` of more arguments is that of a cluster or of Sentinel: it wants a key or a flag
 * first.
 */
const A_CLIENT: Rule = {
  expected: "a client of ioredis, or a client or pool of node-redis 5 or later",
  type: "object",
  test: (client: { readonly call?: unknown; readonly sendCommand?: unknown }) =>
    typeof client.call === "function" || (typeof client.sendCommand === "function" && client.sendCommand.length <= 2),
};

const A_KEY: Rule = {
  expected: "a text without braces",
  type: "string",
  test: (key: string) => /^[^{}]+$/.test(key),
};

const A_TIMEOUT: Rule = {
  expected: "a number from 1 to 500",
  type: "number",
  test: (value: number) => value >= 1 && value <= 500,
};

const NAMES: readonly (keyof RedisRateLimiterOptions)[] = [
  ...["client", "key", "callsPerMinute", "costPerMinute", "burstMs"],
  ...["processes", "timeoutMs", "onState", "clock"],
] as (keyof RedisRateLimiterOptions)[];

function ignoreState(): void {}

/** Validates, fills in and freezes. Throws INVALID_OPTION. */
export function resolveRedisOptions(given: unknown): ResolvedRedisOptions {
  checkIsObject("options", given);
  const options = { ...given } as Partial<RedisRateLimiterOptions>;
  refuseUnknown(options, NAMES, "", HINTS);
  const { client, key, processes, timeoutMs = 250, onState = ignoreState, ...rates } = options;
  check("client", A_CLIENT, client);
  check("key", A_KEY, key);
  if (processes !== undefined) check("processes", finiteIntegerFrom(1), processes);
  check("timeoutMs", A_TIMEOUT, timeoutMs);
  check("onState", aFunction, onState);
  return Object.freeze({
    ...resolveRateLimiterOptions(rates),
    client: client as RedisClient,
    key: key as string,
    processes: processes ?? null,
    timeoutMs,
    onState,
  });
}
