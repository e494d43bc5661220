// Counts the tokens of an item, for a token batcher. A count that is not a finite number >= 0
// throws INVALID_OPTION; an error of a user's function is passed on.

import { ignoreIfPromise } from "../core/contract/thenable.ts";
import { aCost, isCost, rangeError } from "../core/contract/validate.ts";
import { estimateTokens } from "./estimate-tokens.ts";

const TEXT_FIELDS: readonly string[] = ["messages", "input", "prompt", "text"];

/**
 * Counts the tokens of an item. Uses the first of these that applies: the `estimateTokens` option;
 * the item's own `estimateTokens()` or `estimateCost()`; the rough estimate, if the item is a text,
 * an array or a body with text; `defaultTokens`.
 */
export function countTokens(
  item: unknown,
  estimate: ((item: unknown) => number) | undefined,
  defaultTokens: number,
): number {
  if (estimate !== undefined) return checkCount("estimateTokens", estimate(item));
  if (typeof item === "string") return estimateTokens(item);
  if (typeof item !== "object" || item === null) return defaultTokens;
  const own = item as { estimateTokens?: unknown; estimateCost?: unknown };
  if (typeof own.estimateTokens === "function") return checkCount("item.estimateTokens()", own.estimateTokens());
  if (typeof own.estimateCost === "function") return checkCount("item.estimateCost()", own.estimateCost());
  const hasText = Array.isArray(item) || TEXT_FIELDS.some((name) => name in item);
  return hasText ? estimateTokens(item) : defaultTokens;
}

/**
 * Returns a count from a user's function. Throws a RangeError that names the function if it is not
 * a count.
 */
export function checkCount(name: string, count: unknown): number {
  if (isCost(count)) return count;
  // The function may be async by mistake: its rejection would end the process.
  ignoreIfPromise(count);
  throw rangeError(name, aCost, count);
}
