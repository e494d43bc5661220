// Options are validated once, filled in and frozen. Mistakes throw a TypeError or RangeError with
// `code: "INVALID_OPTION"`.

import { systemClock } from "../time/clock.ts";
import type { BatchOptions, ConfigureOptions, ResolvedOptions, ResolvedRetry, RetryOptions } from "./options.ts";
import {
  aBoolean,
  aboveZero,
  aFunction,
  aString,
  check,
  checkIsObject,
  expected,
  finiteIntegerFrom,
  integerFrom,
  objectWith,
  oneOf,
  type Rule,
  refuseUnknown,
  unboundedIntegerFrom,
  zeroOrMore,
} from "./validate.ts";

const LIMITS: Readonly<Record<keyof ConfigureOptions, Rule>> = {
  maxBatchSize: integerFrom(1),
  maxBatchCost: aboveZero,
  maxWaitMs: zeroOrMore,
  minBatchSize: integerFrom(1),
  concurrency: unboundedIntegerFrom(1),
  maxQueueSize: unboundedIntegerFrom(1),
};

const aMeasure: Rule = {
  expected: '"sum", "padded" or a function',
  type: "string",
  test: (value: string) => value === "sum" || value === "padded",
};

const RULES: Readonly<Record<keyof BatchOptions<never, never>, Rule>> = {
  ...LIMITS,
  cost: aFunction,
  batchCost: aMeasure,
  oversize: oneOf("reject", "alone"),
  limiter: objectWith("reserve", "giveBack", "withdraw", "hold"),
  prefetch: finiteIntegerFrom(0),
  onFull: oneOf("wait", "reject", "drop-oldest"),
  key: aFunction,
  dedupe: aFunction,
  cache: objectWith("get", "set"),
  order: oneOf("fifo"),
  fairBy: aFunction,
  smallCallFirst: integerFrom(0),
  priorityAgingMs: aboveZero,
  timeoutMs: aboveZero,
  handlerTimeoutMs: aboveZero,
  retry: { expected: "an object with attempts", type: "object", test: (value: object) => "attempts" in value },
  isolateFailures: aBoolean,
  name: aString,
  captureContext: aFunction,
  clock: objectWith("now", "setTimeout", "clearTimeout"),
  random: aFunction,
};

/** Every option there is. */
export const OPTION_NAMES: readonly string[] = Object.keys(RULES);

const RETRY_RULES: Readonly<Record<keyof RetryOptions, Rule>> = {
  attempts: finiteIntegerFrom(1),
  backoffMs: zeroOrMore,
  when: aFunction,
};

/** The cost of items that were given none. */
export const oneEach = (): number => 1;

/** Validates, fills in and freezes. Throws INVALID_OPTION. */
export function resolveOptions(given: unknown): ResolvedOptions {
  checkIsObject("options", given);
  const options: BatchOptions<unknown, unknown> = { ...given };
  checkAll(options, RULES, "");
  if (options.cache !== undefined && options.dedupe === undefined) {
    throw expected("dedupe", { ...aFunction, expected: "a function when `cache` is set" }, undefined);
  }
  if (options.limiter !== undefined && (options.prefetch ?? 0) > 0) {
    // A prefetched batch is closed before the limiter is asked, and can neither grow nor be cut.
    throw expected("prefetch", { ...finiteIntegerFrom(0), expected: "0 when `limiter` is set" }, options.prefetch);
  }
  const limits = resolveLimits(options);
  return Object.freeze({
    ...limits,
    cost: options.cost ?? oneEach,
    batchCost: options.batchCost ?? "sum",
    oversize: options.oversize ?? "reject",
    limiter: options.limiter,
    prefetch: options.prefetch ?? 0,
    onFull: options.onFull ?? "wait",
    key: options.key,
    dedupe: options.dedupe,
    cache: options.cache,
    order: options.order ?? "fifo",
    fairBy: options.fairBy,
    smallCallFirst: options.smallCallFirst ?? 0,
    priorityAgingMs: options.priorityAgingMs ?? 10_000,
    timeoutMs: options.timeoutMs ?? Number.POSITIVE_INFINITY,
    handlerTimeoutMs: options.handlerTimeoutMs ?? Number.POSITIVE_INFINITY,
    retry: options.retry === undefined ? undefined : resolveRetry(options.retry),
    isolateFailures: options.isolateFailures ?? false,
    name: options.name ?? "batch",
    captureContext: options.captureContext,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
  });
}

/** The options with some limits changed. `isMinUnset`: minBatchSize was never given and follows maxBatchSize. */
export function reconfigure(current: ResolvedOptions, changes: ConfigureOptions, isMinUnset: boolean): ResolvedOptions {
  checkIsObject("changes", changes);
  checkAll(changes, LIMITS, "");
  const kept: ConfigureOptions = { ...current, minBatchSize: isMinUnset ? undefined : current.minBatchSize };
  return Object.freeze({ ...current, ...resolveLimits({ ...kept, ...withoutUndefined(changes) }) });
}

function resolveLimits(options: ConfigureOptions): Required<{ [Name in keyof ConfigureOptions]: number }> {
  const maxBatchSize = options.maxBatchSize ?? 32;
  const minBatchSize = options.minBatchSize ?? maxBatchSize;
  if (minBatchSize > maxBatchSize) {
    const rule = { ...integerFrom(1), expected: `an integer from 1 to \`maxBatchSize\` (${maxBatchSize})` };
    throw expected("minBatchSize", rule, minBatchSize);
  }
  return {
    maxBatchSize,
    minBatchSize,
    maxBatchCost: options.maxBatchCost ?? Number.POSITIVE_INFINITY,
    maxWaitMs: options.maxWaitMs ?? 0,
    concurrency: options.concurrency ?? 1,
    maxQueueSize: options.maxQueueSize ?? 10_000,
  };
}

function resolveRetry(retry: RetryOptions): ResolvedRetry {
  checkAll(retry, RETRY_RULES, "retry.");
  check("retry.attempts", RETRY_RULES.attempts, retry.attempts);
  return Object.freeze({ attempts: retry.attempts, backoffMs: retry.backoffMs ?? 0, when: retry.when ?? (() => true) });
}

/** Checks each option that is given; one that is undefined counts as not given. */
function checkAll(options: object, rules: Readonly<Record<string, Rule>>, prefix: string): void {
  refuseUnknown(options, Object.keys(rules), prefix);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (name === "batchCost" && typeof value === "function") continue;
    check(prefix + name, rules[name] as Rule, value);
  }
}

function withoutUndefined(options: ConfigureOptions): ConfigureOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
