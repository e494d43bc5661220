/**
 * The interface of a tokenizer, and the ids of one text: all of them, or with truncation the first
 * ids that fit.
 *
 * Guarantees: a text is cut only for truncation, and only at a place where the kept ids equal the
 * first ids of the whole text.
 */

import { describe } from "../../core/contract/errors.ts";
import { estimateTokens } from "../../tokens/estimate-tokens.ts";
import { modelInputError, tokenizerFailedError } from "../errors.ts";
import { specialTokensOf } from "./special-tokens.ts";

/** Converts texts to token ids. */
export interface Tokenizer {
  /** Ids run from 0 to `vocabularySize - 1`. */
  readonly vocabularySize: number;
  readonly paddingId: number;
  /** The end at which a text that is too long loses its tokens. Default: right. */
  readonly truncationSide?: "left" | "right";
  /**
   * True if no token spans two words. Then a part of a text that ends before a space has the same
   * ids as in the whole text, except for its last word, and truncation tokenises only a part of a
   * long text. Default: false.
   */
  readonly splitsAtSpaces?: boolean;
  /** The ids of a text, with the special tokens that the model expects around it. */
  encode(text: string): readonly number[];
}

/**
 * Returns the ids if each is a row number of a table with `vocabulary` rows. Throws MODEL_INPUT for
 * any other.
 */
export function checkIds<Ids extends ArrayLike<number>>(name: string, ids: Ids, vocabularySize: number): Ids {
  for (let index = 0; index < ids.length; index += 1) {
    const id = ids[index] as number;
    if (Number.isInteger(id) && id >= 0 && id < vocabularySize) continue;
    const reason = id === undefined ? ": the tokenizer has no id for a word that it does not know" : "";
    throw modelInputError(
      `Expected the token ids of \`${name}\` to be integers from 0 to ${vocabularySize - 1}, got ${describe(id)} at place ${index}${reason}`,
    );
  }
  return ids;
}

/** Number of tokens of a text, special tokens included. */
export interface TokenCount {
  /** The text's ids; null if it is too long for the model. */
  readonly ids: readonly number[] | null;
  /** Exact if `ids` is given; otherwise exact or an estimate. */
  readonly tokens: number;
}

/** The model's limit, and whether longer texts are cut. */
export interface TokenLimit {
  readonly maxTokens: number;
  /** True: cut a longer text to the tokens that fit. */
  readonly truncate: boolean;
}

// No known tokenizer packs more than about 100 characters into one token. A text above this cannot
// fit, and counting its tokens exactly would block a thread that others need.
const MAX_CHARACTERS_PER_TOKEN = 100;
/** Words have about 4 characters per token, so a part of this length mostly fills the model. */
const LOOKED_AT_PER_TOKEN = 8;
/** Shorter texts are tokenised in one piece. */
const SMALL_TEXT = 16_384;
/** With this many times the tokens that fit, no kept token belongs to the last word of a part. */
const SURELY_TOO_LONG = 1.25;
const TOKENS_OF_A_WORD = 16;

/** The ids of a text; `name` stands for it in errors. Throws MODEL_INPUT. */
export function tokensOf(
  tokenizer: Tokenizer,
  { name, text }: NamedText,
  { maxTokens, truncate }: TokenLimit,
): TokenCount {
  const counted = counting(name, () => (truncate ? truncateTokens : countTokens)(tokenizer, text, maxTokens));
  if (counted.ids !== null) checkIds(name, counted.ids, tokenizer.vocabularySize);
  return counted;
}

export interface NamedText {
  readonly name: string;
  readonly text: string;
}

function counting(name: string, count: () => TokenCount): TokenCount {
  try {
    return count();
  } catch (error) {
    if (error instanceof TextTooLongError) throw modelInputError(`\`${name}\` ${error.message}`);
    throw tokenizerFailedError(name, error);
  }
}

/** Tokenises one text; stops early for a text that cannot fit. */
export function countTokens(tokenizer: Tokenizer, text: string, maxTokens: number): TokenCount {
  const isHopeless = text.length > maxTokens * MAX_CHARACTERS_PER_TOKEN;
  if (isHopeless) return { ids: null, tokens: Math.max(maxTokens + 1, estimateTokens(text)) };
  const { ids, isPart } = idsOf(tokenizer, text, maxTokens, tokenizer.splitsAtSpaces === true);
  if (ids.length <= maxTokens) return { ids, tokens: ids.length };
  return { ids: null, tokens: isPart ? Math.max(ids.length, estimateTokens(text)) : ids.length };
}

/** Tokenises as much of a text as fits, with the special tokens of a whole text around it. */
export function truncateTokens(tokenizer: Tokenizer, text: string, maxTokens: number): TokenCount {
  const left = tokenizer.truncationSide === "left";
  const { ids } = idsOf(tokenizer, text, maxTokens, tokenizer.splitsAtSpaces === true && !left);
  if (ids.length <= maxTokens) return { ids, tokens: ids.length };
  const special = specialTokensOf(tokenizer);
  if (special === undefined) return { ids: null, tokens: ids.length };
  const { before, after } = special;
  const room = maxTokens - before.length - after.length;
  if (room < 0) return { ids: null, tokens: ids.length };
  const inner = ids.slice(before.length, ids.length - after.length);
  const kept = left ? inner.slice(inner.length - room) : inner.slice(0, room);
  return { ids: [...before, ...kept, ...after], tokens: maxTokens };
}

interface Ids {
  readonly ids: readonly number[];
  /** True if they are the ids of a part of the text that has more tokens than fit. */
  readonly isPart: boolean;
}

/**
 * The ids of a text. If it may be cut, the ids of a first part that is already too long: parts
 * double in length until one is. Throws TextTooLongError for a text with more characters than the
 * limit.
 */
function idsOf(tokenizer: Tokenizer, text: string, maxTokens: number, mayCut: boolean): Ids {
  const most = Math.max(SMALL_TEXT, maxTokens * MAX_CHARACTERS_PER_TOKEN);
  const first = Math.min(most, Math.max(SMALL_TEXT, maxTokens * LOOKED_AT_PER_TOKEN));
  for (let length = mayCut ? first : most; ; length = Math.min(most, 2 * length)) {
    if (text.length <= length) return { ids: tokenizer.encode(streamSafe(text)), isPart: false };
    const ids = mayCut ? tokenizer.encode(streamSafe(beforeSpace(text, length))) : [];
    if (ids.length > SURELY_TOO_LONG * maxTokens + TOKENS_OF_A_WORD) return { ids, isPart: true };
    if (length === most) throw new TextTooLongError(text.length, most);
  }
}

class TextTooLongError extends Error {
  constructor(length: number, most: number) {
    super(`has ${length} characters, and at most ${most} are tokenised of a text that cannot be cut before a space`);
  }
}

/**
 * The longest part of a text that ends before a space or line break and has at most `length`
 * characters; "" if there is none.
 */
function beforeSpace(text: string, length: number): string {
  let end = length;
  while (end > 0 && text[end] !== " " && text[end] !== "\n") end -= 1;
  while (end > 0 && WHITE_SPACE.test(text[end - 1] as string)) end -= 1;
  return text.slice(0, end);
}

const WHITE_SPACE = /\s/;

/** Shorter texts are normalised quickly, with any content. */
const SHORT_TEXT = 1024;

/**
 * Unicode's Stream-Safe Text Format (UAX 15): inserts a joiner after each 30 combining marks in a
 * row, which no language has. Normalising a row of marks takes time that grows with its square
 * (minutes for 800,000 marks), and the thread cannot be ended meanwhile.
 */
function streamSafe(text: string): string {
  return text.length <= SHORT_TEXT ? text : text.replace(/\p{M}{30}(?=\p{M})/gu, "$&\u034f");
}
