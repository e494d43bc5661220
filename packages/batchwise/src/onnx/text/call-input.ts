/**
 * Checks the arguments of an embedder's calls before anything is tokenised or submitted.
 *
 * Guarantees: an error names the wrong argument. A list of ids is read once, so later changes by
 * the caller have no effect.
 */

import { describe } from "../../core/contract/errors.ts";
import { aString, check, checkIsObject, refuseUnknown } from "../../core/contract/validate.ts";
import { modelInputError } from "../errors.ts";
import type { EmbedOptions } from "./embedder-types.ts";
import type { TokenizeOptions } from "./tokenize-all.ts";

const EMBED_OPTIONS: readonly (keyof EmbedOptions)[] = ["signal", "priority", "timeoutMs", "caller"];
const TOKENIZE_OPTIONS: readonly (keyof TokenizeOptions)[] = ["signal", "nameOf"];

/** Throws INVALID_OPTION. `submit` checks the values of the other options. */
export function checkEmbedOptions(options: EmbedOptions): void {
  checkIsObject("options", options);
  refuseUnknown(options, EMBED_OPTIONS);
  if (options.caller !== undefined) check("caller", aString, options.caller);
}

/** Throws INVALID_OPTION. */
export function checkTokenizeOptions(options: TokenizeOptions): void {
  checkIsObject("options", options);
  refuseUnknown(options, TOKENIZE_OPTIONS);
}

/** Throws MODEL_INPUT. */
export function checkTexts(texts: unknown): void {
  if (Array.isArray(texts) && texts.every((text) => typeof text === "string")) return;
  const other = Array.isArray(texts) ? texts.find((text) => typeof text !== "string") : texts;
  const got = Array.isArray(texts) ? `a list with ${describe(other)}` : describe(other);
  throw modelInputError(
    `Expected \`texts\` to be a list of strings, got ${got}; \`embedTokens\` takes lists of token ids`,
  );
}

/** Throws MODEL_INPUT if the value is not a list of lists. Does not check the ids. */
export function checkLists(lists: readonly unknown[]): void {
  if (!Array.isArray(lists)) {
    throw modelInputError(`Expected \`lists\` to be a list of lists of token ids, got ${describe(lists)}`);
  }
  for (const [index, list] of lists.entries()) {
    if (typeof list === "object" && list !== null && isLength(list.length)) continue;
    throw modelInputError(`Expected \`lists[${index}]\` to be a list of token ids, got ${describe(list)}`);
  }
}

const isLength = (length: unknown): boolean => Number.isInteger(length) && (length as number) >= 0;

/** A copy, because the caller may refill its list, above all a typed array. */
export function copyOf(list: ArrayLike<number>): ArrayLike<number> {
  return list instanceof Int32Array ? new Int32Array(list) : Array.from(list);
}
