// A batcher in the words of language models: its cost is tokens.

import type { BatchOptions } from "../contract/options.ts";
import { OPTION_NAMES } from "../contract/resolve-options.ts";
import type {
  Batcher,
  ElementOf,
  HandlerFunction,
  HandlerObject,
  NumericArray,
  NumericHandlerFunction,
  PlainHandlerObject,
  ResultOf,
} from "../contract/types.ts";
import { aboveZero, aCost, aFunction, check, checkIsObject, refuseUnknown } from "../contract/validate.ts";
import { createBatcher } from "./batch.ts";
import { estimateTokens } from "./estimate-tokens.ts";

export interface TokenBatcherOptions<Item, Result> extends Omit<BatchOptions<Item, Result>, "maxBatchCost" | "cost"> {
  /** Hard cap on the tokens of a batch. > 0. Default 32,000. */
  readonly maxBatchTokens?: number | undefined;
  /** Tokens of an item. Default: the item's own `estimateTokens()` where it has one, else {@link estimateTokens}. */
  readonly estimateTokens?: ((item: Item) => number) | undefined;
  /** Tokens of an item that has no text to estimate. Default 1. */
  readonly defaultTokens?: number | undefined;
}

const NAMES: readonly string[] = [
  ...OPTION_NAMES.filter((name) => name !== "maxBatchCost" && name !== "cost"),
  "maxBatchTokens",
  "estimateTokens",
  "defaultTokens",
];

/**
 * `createBatcher` with token words: batches close at `maxBatchTokens` (default 32,000) or at 256 items. A submit may
 * give an exact count as `cost`.
 *
 * @throws TypeError or RangeError with `code: "INVALID_OPTION"`.
 *
 * @example
 * ```ts
 * import { createTokenBatcher } from "batchwise";
 * const summaries = createTokenBatcher(async (prompts: string[]) => prompts.map((prompt) => prompt.slice(0, 10)), {
 *   maxBatchTokens: 8_000,
 * });
 * const summary = await summaries.submit("A long text");
 * ```
 */
export function createTokenBatcher<Item, Numbers extends NumericArray>(
  handler: NumericHandlerFunction<Item, Numbers>,
  options?: TokenBatcherOptions<Item, Numbers[number]>,
): Batcher<Item, Numbers[number]>;
export function createTokenBatcher<Item, Result>(
  handler: HandlerFunction<Item, Result>,
  options?: TokenBatcherOptions<Item, Result>,
): Batcher<Item, Result>;
export function createTokenBatcher<Item, Result>(
  handler: PlainHandlerObject<Item, Result>,
  options?: TokenBatcherOptions<Item, Result>,
): Batcher<Item, Result>;
export function createTokenBatcher<
  Output,
  Input,
  Prepared = ElementOf<Input>,
  Item = Prepared,
  Result = ResultOf<Output>,
>(
  handler: HandlerObject<Item, Result, Prepared, Input, Output>,
  options?: TokenBatcherOptions<Item, Result>,
): Batcher<Item, Result>;
export function createTokenBatcher(
  handler: unknown,
  options?: TokenBatcherOptions<unknown, unknown>,
): Batcher<unknown, unknown> {
  checkIsObject("options", options);
  refuseUnknown(options ?? {}, NAMES);
  const { maxBatchTokens = 32_000, estimateTokens: estimate, defaultTokens = 1, ...rest } = options ?? {};
  check("maxBatchTokens", aboveZero, maxBatchTokens);
  check("defaultTokens", aCost, defaultTokens);
  if (estimate !== undefined) check("estimateTokens", aFunction, estimate);
  const cost = estimate ?? ((item: unknown) => tokensOf(item, defaultTokens));
  const batchOptions = { ...rest, maxBatchSize: rest.maxBatchSize ?? 256, maxBatchCost: maxBatchTokens, cost };
  return createBatcher(handler as HandlerFunction<unknown, unknown>, batchOptions);
}

function tokensOf(item: unknown, defaultTokens: number): number {
  if (typeof item === "string") return estimateTokens(item);
  if (typeof item !== "object" || item === null) return defaultTokens;
  const own = (item as { estimateTokens?: unknown }).estimateTokens;
  if (typeof own === "function") return own.call(item) as number;
  const isText = Array.isArray(item) || ["messages", "input", "prompt", "text"].some((name) => name in item);
  return isText ? estimateTokens(item) : defaultTokens;
}
