// The options of a rate limiter: validated once, filled in and frozen. Throws TypeError or
// RangeError with `code: "INVALID_OPTION"`.

import {
  aboveZero,
  check,
  checkIsObject,
  expected,
  objectWith,
  type Rule,
  refuseUnknown,
} from "../core/contract/validate.ts";
import { type Clock, systemClock } from "../core/time/clock.ts";

/** Options of `rateLimiter`. At least one of the two rates is required. */
export interface RateLimiterOptions {
  /** Calls of the handler per minute, retries included. > 0. Default: no limit. */
  readonly callsPerMinute?: number | undefined;
  /**
   * Cost of all batches per minute, in the unit of the batcher's `cost` (tokens, rows). > 0.
   * Default: no limit.
   */
  readonly costPerMinute?: number | undefined;
  /**
   * Size of a bucket: the time in ms for which its rate fills it, > 0. A bucket of calls holds at
   * least one call. Default 1,000.
   */
  readonly burstMs?: number | undefined;
  /** The clock, for tests and simulation. */
  readonly clock?: Clock | undefined;
}

/** The resolved options: Infinity means no limit. */
export interface ResolvedRateLimiterOptions {
  readonly callsPerMinute: number;
  readonly costPerMinute: number;
  readonly burstMs: number;
  readonly clock: Clock;
}

/** Names of providers' limits, and the options to use instead. */
export const HINTS: Readonly<Record<string, string>> = {
  tokensPerMinute: "tokens are a batch's cost; use `costPerMinute`",
  tpm: "tokens are a batch's cost; use `costPerMinute`",
  requestsPerMinute: "each request is a call of the handler; use `callsPerMinute`",
  rpm: "each request is a call of the handler; use `callsPerMinute`",
  callsPerSecond: "use `callsPerMinute`, and `burstMs: 1` where the provider counts by the second",
};

const RULES: Readonly<Record<keyof RateLimiterOptions, Rule>> = {
  callsPerMinute: aboveZero,
  costPerMinute: aboveZero,
  burstMs: {
    expected: "a finite number > 0",
    type: "number",
    test: (value: number) => value > 0 && value < Number.POSITIVE_INFINITY,
  },
  clock: objectWith("now", "setTimeout", "clearTimeout"),
};

/** Validates, fills in and freezes. Throws INVALID_OPTION. */
export function resolveRateLimiterOptions(given: unknown): ResolvedRateLimiterOptions {
  checkIsObject("options", given);
  const options: RateLimiterOptions = { ...given };
  refuseUnknown(options, Object.keys(RULES), "", HINTS);
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined) check(name, RULES[name as keyof RateLimiterOptions], value);
  }
  if (options.callsPerMinute === undefined && options.costPerMinute === undefined) {
    const rule = { ...aboveZero, expected: "a number > 0 when `costPerMinute` is not set" };
    throw expected("callsPerMinute", rule, undefined);
  }
  return Object.freeze({
    callsPerMinute: options.callsPerMinute ?? Number.POSITIVE_INFINITY,
    costPerMinute: options.costPerMinute ?? Number.POSITIVE_INFINITY,
    burstMs: options.burstMs ?? 1_000,
    clock: options.clock ?? systemClock,
  });
}
