// The options of a limiter in Redis, checked once. The rates are the same as in `rateLimiter`.

import {
  aFunction,
  check,
  checkIsObject,
  finiteIntegerFrom,
  type Rule,
  refuseUnknown,
} from "../../core/contract/validate.ts";
import { A_CLIENT, A_HASH_TAG, type RedisClient } from "../../redis/redis-client.ts";
import {
  HINTS,
  type RateLimiterOptions,
  type ResolvedRateLimiterOptions,
  resolveRateLimiterOptions,
} from "../options.ts";

/**
 * Options of `redisRateLimiter`. At least one of the two rates is required; all processes must use
 * the same values.
 */
export interface RedisRateLimiterOptions extends RateLimiterOptions {
  /**
   * A connected client of ioredis or its `Cluster` (with `call`), or of node-redis (with
   * `sendCommand`). The limiter never closes it.
   */
  readonly client: RedisClient;
  /** The name of the limit: limiters with the same key share it. No braces. */
  readonly key: string;
  /**
   * Least number of processes that share the limit. A process that loses Redis uses 1 / `processes`
   * of the limit, or less if Redis has reported more processes. Integer >= 1. Default: the number
   * that Redis last reported; a process without a report waits for Redis.
   */
  readonly processes?: number | undefined;
  /**
   * Time in milliseconds without an answer after which Redis counts as lost. 1 to 500. Default 250.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Called when the limit changes to shares, with the error that caused it, and when it changes
   * back to Redis. Errors that it throws are ignored. Kept as long as the limiter.
   */
  readonly onState?: ((state: "shares" | "redis", error: unknown) => void) | undefined;
}

/** The resolved options. */
export interface ResolvedRedisOptions extends ResolvedRateLimiterOptions {
  readonly client: RedisClient;
  readonly key: string;
  /** null: not set. */
  readonly processes: number | null;
  readonly timeoutMs: number;
  readonly onState: (state: "shares" | "redis", error: unknown) => void;
}

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
  check("key", A_HASH_TAG, key);
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
