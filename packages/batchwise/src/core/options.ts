// The options of a batcher: their meaning, defaults and validation. Validated once, filled in and frozen; behind
// `resolveOptions` no option is optional. Mistakes throw a TypeError or RangeError with `code: "INVALID_OPTION"`.

import { type Clock, systemClock } from "./clock.ts";
import type { Measure } from "./pack.ts";
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

/** What a full queue does to the next submit. */
export type OnFull = "wait" | "reject" | "drop-oldest";

export interface RetryOptions {
  /** Calls of the handler in total, at least 1. */
  readonly attempts: number;
  /** Pause before each further call, in milliseconds. Default 0. */
  readonly backoffMs?: number | undefined;
  /** Whether an error is worth another call. Default: every one is. */
  readonly when?: ((error: unknown) => boolean) | undefined;
}

/** Results kept by the owner of the batcher. `undefined` is a miss. One that fails counts as a miss, with a warning. */
export interface BatchCache<Result> {
  get(key: string): Result | undefined | PromiseLike<Result | undefined>;
  set(key: string, result: Result): unknown;
}

/** The limits that may change while a batcher runs. Durations are in milliseconds. */
export interface ConfigureOptions {
  /** Hard cap on items per batch. Integer >= 1. Default 32. */
  readonly maxBatchSize?: number | undefined;
  /** Hard cap on a batch's cost, exceeded only by a single oversize item that runs alone. > 0. Default Infinity. */
  readonly maxBatchCost?: number | undefined;
  /** Longest that the oldest item is held for company while a slot is free. Default 0: never held. */
  readonly maxWaitMs?: number | undefined;
  /** With `maxWaitMs > 0`: this many waiting go at once. 1 to maxBatchSize; follows maxBatchSize while unset. */
  readonly minBatchSize?: number | undefined;
  /** Batches that may run at the same time. Integer >= 1 or Infinity. Default 1. */
  readonly concurrency?: number | undefined;
  /** Waiting items accepted before `onFull` applies. Integer >= 1 or Infinity. Default 10,000. */
  readonly maxQueueSize?: number | undefined;
}

/** All options of a batcher. Functions are the user's own: whatever they throw rejects one item, never the batcher. */
export interface BatchOptions<Item, Result> extends ConfigureOptions {
  /** The weight of an item: finite, >= 0. Default: every item weighs 1. */
  readonly cost?: ((item: Item) => number) | undefined;
  /**
   * A batch's cost: the `"sum"` of its items' (default), `"padded"` (items x largest), or a function of the items,
   * which must not decrease when items are added. With `prepareItem` the function gets the prepared items.
   */
  readonly batchCost?: Measure<Item> | undefined;
  /** What becomes of an item that is over `maxBatchCost` by itself. Default `"reject"` (ITEM_TOO_LARGE). */
  readonly oversize?: "reject" | "alone" | undefined;
  /** Batches that may be prepared ahead of a free slot. Only for handlers with `prepare`. Integer >= 0. Default 0. */
  readonly prefetch?: number | undefined;
  /** What a submit meets when the queue is full. Default `"wait"`. */
  readonly onFull?: OnFull | undefined;
  /** Items of different keys never share a batch. */
  readonly key?: ((item: Item) => string) | undefined;
  /** Equal items that wait or run share one place, and one computation. */
  readonly dedupe?: ((item: Item) => string) | undefined;
  /** Results by `dedupe`'s key. */
  readonly cache?: BatchCache<Result> | undefined;
  /** The order among what waits. Default `"fifo"`. */
  readonly order?: "fifo" | undefined;
  /** Tenants share batches by cost (deficit round robin). */
  readonly fairBy?: ((item: Item) => string) | undefined;
  /** `submitMany` calls of at most this many items go before larger ones. Integer >= 0. Default 0: off. */
  readonly smallCallFirst?: number | undefined;
  /** Waiting this long raises an item's priority by one. > 0. Default 10,000. */
  readonly priorityAgingMs?: number | undefined;
  /** Default deadline of an item, from its submit. > 0. Default: none. */
  readonly timeoutMs?: number | undefined;
  /** A call of the handler that runs longer rejects its callers (HANDLER_TIMEOUT) and frees its slot. > 0. */
  readonly handlerTimeoutMs?: number | undefined;
  /** Further calls for a batch that failed as a whole. Default: none. */
  readonly retry?: RetryOptions | undefined;
  /** Splits a failed batch in halves until the items that fail are alone. Default false. */
  readonly isolateFailures?: boolean | undefined;
  /** A label for metrics and batch ids. Default `"batch"`. */
  readonly name?: string | undefined;
  /** Called at each submit, in the caller's async context; its value reaches the handler with the item. */
  readonly captureContext?: (() => unknown) | undefined;
  /** Time, for tests and simulation. */
  readonly clock?: Clock | undefined;
  /** Chance in [0, 1), for tests and simulation. */
  readonly random?: (() => number) | undefined;
}

/** The retry policy with nothing left out. */
export type ResolvedRetry = { readonly [Name in keyof RetryOptions]-?: Exclude<RetryOptions[Name], undefined> };

/** The options in force: every limit a number; a function that was not given is undefined. */
export interface ResolvedOptions {
  readonly maxBatchSize: number;
  readonly maxBatchCost: number;
  readonly maxWaitMs: number;
  readonly minBatchSize: number;
  readonly concurrency: number;
  readonly maxQueueSize: number;
  readonly cost: (item: unknown) => number;
  readonly batchCost: Measure<unknown>;
  readonly oversize: "reject" | "alone";
  readonly prefetch: number;
  readonly onFull: OnFull;
  readonly key: ((item: unknown) => string) | undefined;
  readonly dedupe: ((item: unknown) => string) | undefined;
  readonly cache: BatchCache<unknown> | undefined;
  readonly order: "fifo";
  readonly fairBy: ((item: unknown) => string) | undefined;
  readonly smallCallFirst: number;
  readonly priorityAgingMs: number;
  /** Infinity where there is none. */
  readonly timeoutMs: number;
  /** Infinity where there is none. */
  readonly handlerTimeoutMs: number;
  readonly retry: ResolvedRetry | undefined;
  readonly isolateFailures: boolean;
  readonly name: string;
  readonly captureContext: (() => unknown) | undefined;
  readonly clock: Clock;
  readonly random: () => number;
}

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
  const limits = resolveLimits(options);
  return Object.freeze({
    ...limits,
    cost: options.cost ?? oneEach,
    batchCost: options.batchCost ?? "sum",
    oversize: options.oversize ?? "reject",
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
