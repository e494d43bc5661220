// Validates, fills in and freezes options once. Throws a TypeError or RangeError with
// `code: "INVALID_OPTION"` for a mistake.

import { systemClock } from "../time/clock.ts";
import { NO_NAME } from "./errors.ts";
import type {
  BatchOptions,
  ConfigureOptions,
  ResolvedOptions,
  ResolvedRetry,
  RetryOptions,
  ShownOptions,
} from "./options.ts";
import {
  AS_SIZE,
  aBoolean,
  aboveZero,
  aCost,
  aFunction,
  aString,
  check,
  checkIsObject,
  expected,
  finiteIntegerFrom,
  objectWith,
  oneOf,
  orFunction,
  type Rule,
  refuseUnknown,
  unboundedIntegerFrom,
  zeroOrMore,
} from "./validate.ts";

/** The default cost of an item. */
export const oneEach = (): number => 1;

/** The options in force, but for sizes that depend on others. */
type Defaults = Omit<ResolvedOptions, Sizes> & { readonly [Name in Sizes]: number | undefined };
type Sizes = "maxBatchSize" | "preferredBatchSize";

/** The options that users may give. */
type Given = Omit<Defaults, "learnsBatchCost">;

/** Rule and default of each option. */
type Settings<Name extends keyof Given> = { readonly [Key in Name]: readonly [rule: Rule, standard: Given[Key]] };

/** The options that `configure` may change. */
export const LIMITS: Settings<keyof ConfigureOptions> = {
  maxBatchSize: [unboundedIntegerFrom(1), undefined],
  preferredBatchSize: [unboundedIntegerFrom(1), undefined],
  maxBatchCost: [{ ...aboveZero, expected: 'a number > 0 or "learn"', or: (value) => value === "learn" }, Infinity],
  maxWaitMs: [zeroOrMore, 0],
  gather: [oneOf("auto", "turn", "tick"), "auto"],
  concurrency: [unboundedIntegerFrom(1), 1],
  maxQueueSize: [unboundedIntegerFrom(1), 10_000],
  targetLatencyMs: [aboveZero, Infinity],
};

/** All options. */
export const SETTINGS: Settings<keyof Given> = {
  ...LIMITS,
  cost: [aFunction, oneEach],
  batchCost: [orFunction({ ...oneOf("sum", "padded"), expected: '"sum", "padded"' }), "sum"],
  oversize: [oneOf("reject", "alone"), "reject"],
  limiter: [objectWith("reserve", "giveBack", "withdraw", "hold"), undefined],
  prefetch: [finiteIntegerFrom(0), 0],
  onFull: [oneOf("wait", "reject", "drop-oldest"), "wait"],
  key: [aFunction, undefined],
  dedupe: [aFunction, undefined],
  cache: [objectWith("get", "set"), undefined],
  order: [oneOf("fifo", "length"), "fifo"],
  fairBy: [aFunction, undefined],
  smallCallFirst: [unboundedIntegerFrom(0), 0],
  priorityAgingMs: [aboveZero, 10_000],
  timeoutMs: [aboveZero, Infinity],
  handlerTimeoutMs: [aboveZero, Infinity],
  retry: [{ ...objectWith(), expected: "an object with attempts" }, undefined],
  isolateFailures: [aBoolean, false],
  name: [aString, NO_NAME],
  captureContext: [aFunction, undefined],
  clock: [objectWith("now", "setTimeout", "clearTimeout"), systemClock],
  random: [aFunction, () => Math.random()],
};

const RETRY: Readonly<Record<keyof RetryOptions, readonly [rule: Rule]>> = {
  attempts: [finiteIntegerFrom(1)],
  backoffMs: [orFunction(aCost)],
  when: [aFunction],
};

const DEFAULTS = {
  ...Object.fromEntries(Object.entries(SETTINGS).map(([name, [, standard]]) => [name, standard])),
  learnsBatchCost: false,
} as unknown as Defaults;

/** Defaults of `maxBatchSize`; the second if the batch size is learned. */
const [PLAIN_SIZE, LEARNED_SIZE] = [32, 1024];

/** Options that were validated, filled in and frozen once. */
export class PreparedOptions {
  readonly options: ResolvedOptions;
  /** The same for users: "learn" for a learned cost, so that `configure` takes them. */
  readonly shown: ShownOptions;
  /** Without defaults. */
  readonly given: BatchOptions<unknown, unknown>;

  /**
   * Prepares options, or returns prepared ones. `name`: for options without one. Throws
   * INVALID_OPTION.
   */
  static of(given: unknown, name: string = NO_NAME): PreparedOptions {
    if (given instanceof PreparedOptions) return given;
    if (given !== undefined) return new PreparedOptions(given, name);
    // Shared by all batchers of a name without options.
    let shared = defaults.get(name);
    if (shared === undefined) {
      shared = new PreparedOptions(undefined, name);
      if (defaults.size === MOST_DEFAULTS) defaults.clear();
      defaults.set(name, shared);
    }
    return shared;
  }

  private constructor(given: unknown, name: string) {
    checkIsObject("options", given, AS_SIZE);
    const options: BatchOptions<unknown, unknown> = { ...given };
    checkAll(options, SETTINGS, "");
    checkTogether(options);
    this.given = { ...options, retry: options.retry && resolveRetry(options.retry) };
    this.options = resolve(this.given, name);
    this.shown = this.options.learnsBatchCost
      ? Object.freeze({ ...this.options, maxBatchCost: "learn" as const })
      : this.options;
  }

  /** The same options with some limits changed. Throws INVALID_OPTION. */
  with(changes: ConfigureOptions): PreparedOptions {
    const read = { ...changes };
    checkAll(read, LIMITS, "");
    return new PreparedOptions({ ...this.given, ...defined(read) }, this.options.name);
  }
}

const defaults: Map<string, PreparedOptions> = new Map();
/** A bound, because programs may generate names. */
const MOST_DEFAULTS = 100;

/** Throws for options that are valid separately but not together. */
function checkTogether(options: BatchOptions<unknown, unknown>): void {
  const { batchCost = "padded", cache, dedupe, gather, limiter, order } = options;
  const { clock = systemClock, prefetch = 0, targetLatencyMs = Infinity } = options;
  if (order === "length" && batchCost !== "padded") {
    throw expected("batchCost", { type: "string", expected: '"padded" when `order` is "length"' }, batchCost);
  }
  if (cache !== undefined && dedupe === undefined) {
    throw expected("dedupe", { type: "function", expected: "a function when `cache` is set" }, undefined);
  }
  if (cache?.nullIsResult !== undefined) check("cache.nullIsResult", aBoolean, cache.nullIsResult);
  if ((limiter !== undefined || targetLatencyMs < Infinity) && prefetch > 0) {
    const none = "0 when `limiter` or `targetLatencyMs` is set";
    throw expected("prefetch", { type: "number", expected: none }, prefetch);
  }
  if (gather === "tick" && clock !== systemClock && typeof clock.setImmediate !== "function") {
    const missing = 'a function where `gather` is "tick"';
    throw expected("clock.setImmediate", { type: "function", expected: missing }, clock.setImmediate);
  }
}

function resolve(given: BatchOptions<unknown, unknown>, name: string): ResolvedOptions {
  const learnsBatchCost = given.maxBatchCost === "learn";
  const batchCost = given.order === "length" ? "padded" : DEFAULTS.batchCost;
  const options: Defaults = { ...DEFAULTS, batchCost, name, ...defined(given), learnsBatchCost };
  const isLearned = learnsBatchCost || options.targetLatencyMs < Infinity;
  const { maxBatchSize = isLearned ? LEARNED_SIZE : PLAIN_SIZE, preferredBatchSize = maxBatchSize } = options;
  if (preferredBatchSize > maxBatchSize) {
    const most = `an integer from 1 to \`maxBatchSize\` (${maxBatchSize})`;
    throw expected("preferredBatchSize", { type: "number", expected: most }, preferredBatchSize);
  }
  const maxBatchCost = learnsBatchCost ? Infinity : options.maxBatchCost;
  return Object.freeze({ ...options, maxBatchSize, preferredBatchSize, maxBatchCost });
}

/** The options that are not undefined. */
export function defined(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function resolveRetry(given: RetryOptions): ResolvedRetry {
  // Use the checked values: a getter may return another value the next time.
  const retry = { ...given, attempts: given.attempts, backoffMs: given.backoffMs, when: given.when };
  checkAll(retry, RETRY, "retry.");
  check("retry.attempts", RETRY.attempts[0], retry.attempts);
  return Object.freeze({ attempts: retry.attempts, backoffMs: retry.backoffMs ?? 0, when: retry.when ?? (() => true) });
}

/** Checks each given option. Undefined counts as not given. */
function checkAll(
  options: object,
  settings: Readonly<Record<string, readonly [rule: Rule, ...unknown[]]>>,
  prefix: string,
): void {
  for (const [name, value] of Object.entries(options)) {
    const rule = settings[name]?.[0];
    if (rule === undefined) refuseUnknown(options, Object.keys(settings), prefix);
    else if (value !== undefined) check(prefix + name, rule, value);
  }
}
