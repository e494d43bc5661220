// The options of a token batcher: a batcher's, with `maxBatchTokens`, `estimateTokens` and `tokens`
// instead of `maxBatchCost` and `cost`. A name of the other kind of batcher is refused, and the
// message has the right one.

import type { Mapped, MapSource, MapWindow } from "../core/contract/map-options.ts";
import type { BatchOptions, ConfigureOptions, ShownOptions } from "../core/contract/options.ts";
import { LIMITS, SETTINGS } from "../core/contract/resolve-options.ts";
import type { Batcher, SubmitManyOptions, SubmitOptions } from "../core/contract/types.ts";
import { AS_SIZE, aCost, aFunction, check, checkIsObject, refuseUnknown } from "../core/contract/validate.ts";

/** Options of `createTokenBatcher`: a batcher's options, in tokens. */
export interface TokenBatcherOptions<Item, Result> extends Omit<BatchOptions<Item, Result>, "maxBatchCost" | "cost"> {
  /** Most items per batch. Integer >= 1. Default 256, or 1,024 if `maxBatchTokens` is `"learn"`. */
  readonly maxBatchSize?: number | undefined;
  /**
   * Most tokens per batch; only a single larger item, which runs without others, may exceed it.
   * More than 0. Default 32,000. With `"learn"` the batcher finds the limit itself, as with
   * `maxBatchCost: "learn"`, and refuses no item as too large.
   */
  readonly maxBatchTokens?: number | "learn" | undefined;
  /**
   * The tokens of an item: finite, >= 0. Default: the item's own `estimateTokens()` or
   * `estimateCost()` if it has one, else the exported `estimateTokens(item)` for texts, arrays and
   * chat bodies, else `defaultTokens`.
   */
  readonly estimateTokens?: ((item: Item) => number) | undefined;
  /** The tokens of an item without text. Finite, >= 0. Default 1. */
  readonly defaultTokens?: number | undefined;
}

/** The limits that can change while a token batcher runs. */
export interface TokenConfigureOptions extends Omit<ConfigureOptions, "maxBatchCost"> {
  /** Most tokens per batch. > 0, or `"learn"`. */
  readonly maxBatchTokens?: number | "learn" | undefined;
}

/** Options of one submit to a token batcher. */
export interface TokenSubmitOptions extends Omit<SubmitOptions, "cost"> {
  /** The item's tokens, instead of an estimate. Finite, >= 0. */
  readonly tokens?: number | undefined;
}

/** Options of one `submitMany` or `submitSettled`. */
export interface TokenSubmitManyOptions<Item> extends Omit<SubmitManyOptions<Item>, "cost"> {
  /** The tokens of each item, or a function that counts them. */
  readonly tokens?: number | ((item: Item) => number) | undefined;
}

/** Options of a token batcher's `map`. */
export interface TokenMapOptions<Item, Settled extends boolean = boolean>
  extends TokenSubmitManyOptions<Item>,
    MapWindow<Settled> {}

/**
 * The resolved options. `maxBatchCost` equals `maxBatchTokens`, for code that takes any batcher.
 */
export interface ResolvedTokenOptions extends ShownOptions {
  readonly maxBatchTokens: number | "learn";
  readonly estimateTokens: ((item: unknown) => number) | undefined;
  readonly defaultTokens: number;
}

/**
 * A batcher that counts tokens. It has every member of a {@link Batcher}; `cost` and
 * `averageBatchCost` in its reports (`stats()`, `inspect()`, events, the handler's context) are
 * tokens.
 */
export interface TokenBatcher<Item, Result> extends Batcher<Item, Result> {
  submit(item: Item, options?: TokenSubmitOptions): Promise<Result>;
  submitMany(items: readonly Item[], options?: TokenSubmitManyOptions<Item>): Promise<Result[]>;
  submitSettled(
    items: readonly Item[],
    options?: TokenSubmitManyOptions<Item>,
  ): Promise<PromiseSettledResult<Result>[]>;
  map<Settled extends boolean = false>(
    source: MapSource<Item>,
    options?: TokenMapOptions<Item, Settled>,
  ): AsyncIterableIterator<Mapped<Result, Settled>, undefined>;
  configure(changes: TokenConfigureOptions): void;
  readonly options: ResolvedTokenOptions;
}

/** Names of other batchers' options, and the options to use instead. */
const HINTS: Readonly<Record<string, string>> = {
  "maxBatchCost targetBatchTokens targetBatchCost maxTokens maxBatchLength":
    "it is `maxBatchTokens` here: the most tokens of a batch",
  "cost itemCls tokenEstimator costEstimator estimatedTokens estimatedCost":
    "it is `estimateTokens` here: a function that gives the tokens of an item",
  "defaultTokenEstimate defaultCost": "it is `defaultTokens` here: the tokens of an item without text",
};

const SUBMIT_HINTS: Readonly<Record<string, string>> = {
  "cost estimatedTokens estimatedCost": "it is `tokens` here: the tokens of the item",
};

/** A token batcher has its own names for these. */
const isOurs = (name: string): boolean => name !== "maxBatchCost" && name !== "cost";
const TOKEN_LIMIT_NAMES: readonly string[] = [...Object.keys(LIMITS).filter(isOurs), "maxBatchTokens"];
const TOKEN_OPTION_NAMES: readonly string[] = [
  ...Object.keys(SETTINGS).filter(isOurs),
  "maxBatchTokens",
  "estimateTokens",
  "defaultTokens",
];

/** A record, so that the compiler finds a missing submit option. */
const TOKEN_SUBMIT_OPTIONS: Readonly<Record<keyof TokenSubmitOptions, true>> = {
  signal: true,
  priority: true,
  tokens: true,
  timeoutMs: true,
  key: true,
  context: true,
};
const TOKEN_SUBMIT_NAMES: readonly string[] = Object.keys(TOKEN_SUBMIT_OPTIONS);

const [TOKEN_CAP] = LIMITS.maxBatchCost;

/** The options of a token batcher, split: its own, and the inner batcher's. */
export interface SplitOptions
  extends Pick<ResolvedTokenOptions, "maxBatchTokens" | "estimateTokens" | "defaultTokens"> {
  readonly others: BatchOptions<unknown, unknown>;
}

/**
 * Checks and fills in the token options; the batcher below checks the others. Throws
 * INVALID_OPTION.
 */
export function splitOptions(given: unknown): SplitOptions {
  checkIsObject("options", given, AS_SIZE);
  refuseUnknown(given ?? {}, TOKEN_OPTION_NAMES, "", HINTS);
  const options: TokenBatcherOptions<unknown, unknown> = given ?? {};
  const { maxBatchTokens = 32_000, estimateTokens, defaultTokens = 1, ...others } = options;
  check("maxBatchTokens", TOKEN_CAP, maxBatchTokens);
  check("defaultTokens", aCost, defaultTokens);
  if (estimateTokens !== undefined) check("estimateTokens", aFunction, estimateTokens);
  const { maxBatchSize = maxBatchTokens === "learn" ? undefined : 256 } = options;
  return { maxBatchTokens, estimateTokens, defaultTokens, others: { ...others, maxBatchSize } };
}

/** The changes for the batcher below. Throws INVALID_OPTION if a token option is wrong. */
export function costChanges(changes: TokenConfigureOptions): ConfigureOptions {
  checkIsObject("changes", changes);
  refuseUnknown(changes ?? {}, TOKEN_LIMIT_NAMES, "", HINTS);
  const { maxBatchTokens, ...others } = changes ?? {};
  if (maxBatchTokens === undefined) return others;
  check("maxBatchTokens", TOKEN_CAP, maxBatchTokens);
  return { ...others, maxBatchCost: maxBatchTokens };
}

/** Throws INVALID_OPTION for a submit option that a token batcher does not have. */
export function checkSubmitNames(options: object): void {
  refuseUnknown(options, TOKEN_SUBMIT_NAMES, "", SUBMIT_HINTS);
}
