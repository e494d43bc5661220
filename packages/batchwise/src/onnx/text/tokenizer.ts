/**
 * What is needed of a tokenizer, and the ids of one text: all of them, or with truncation the first
 * that fit.
 *
 * Guarantees: a text is cut only for truncation, and only where the ids that are kept are those of
 * the whole text.
 */

import { describe } from "../../core/contract/errors.ts";
import { estimateTokens } from "../../tokens/estimate-tokens.ts";
import { modelInputError, tokenizerFailedError } from "../errors.ts";
import { specialTokensOf } from "./special-tokens.ts";

/** Texts to token ids. */
export interface Tokenizer {
  /** Ids run from 0 to `vocabularySize - 1`. */
  readonly vocabularySize: number;
  readonly paddingId: number;
  /** Where a text that is too long loses its tokens. Default: right. */
  readonly truncationSide?: "left" | "right";
  /**
   * True where no token spans two words, so that a part of a text that ends before a space has the
   * ids that it has in the whole text, but for those of its last word. Then truncation looks at a
   * part of a long text. Default: false.
   */
  readonly splitsAtSpaces?: boolean;
  /** The ids of a text, with the marks that the model expects around it. */
  encode(text: string): readonly number[];
}

/**
 * The ids, if a model with so many tokens can have a row for each; no other number has a vector.
 * Throws MODEL_INPUT.
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

/** How many tokens texts have, special ones included. */
export interface TokenCount {
  /** The text's ids, or null when it is too long for the model. */
  readonly ids: readonly number[] | null;
  /** Exact when `ids` is there; otherwise exact or an estimate. */
  readonly tokens: number;
}

/** What the model takes, and what becomes of a text that is longer. */
export interface TokenLimit {
  readonly maxTokens: number;
  /** Keep the tokens that fit. */
  readonly truncate: boolean;
}

// No tokenizer of ours packs more than about 100 characters into one token; past this a text cannot
// fit, and finding out exactly how far it is over would take a thread that others wait for.
const MAX_CHARACTERS_PER_TOKEN = 100;
/** Words have some 4 characters a token: a part with so many is mostly enough to fill the model. */
const LOOKED_AT_PER_TOKEN = 8;
/** Shorter texts are tokenised in one piece. */
const SMALL_TEXT = 16_384;
/**
 * With so many times the tokens that fit, the last word of a part is none of those that are kept.
 */
const SURELY_TOO_LONG = 1.25;
const TOKENS_OF_A_WORD = 16;

/** The ids of a text, with what `name` calls it in errors. Throws MODEL_INPUT. */
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

/** Tokenises one text, giving up early on one that cannot fit. */
export function countTokens(tokenizer: Tokenizer, text: string, maxTokens: number): TokenCount {
  const isHopeless = text.length > maxTokens * MAX_CHARACTERS_PER_TOKEN;
  if (isHopeless) return { ids: null, tokens: Math.max(maxTokens + 1, estimateTokens(text)) };
  const { ids, isPart } = idsOf(tokenizer, text, maxTokens, tokenizer.splitsAtSpaces === true);
  if (ids.length <= maxTokens) return { ids, tokens: ids.length };
  return { ids: null, tokens: isPart ? Math.max(ids.length, estimateTokens(text)) : ids.length };
}

/**
 * Tokenises as much of one text as fits, with the special tokens around it that are around a whole
 * one.
 */
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
  /** They are those of a part of the text, which has more than fit. */
  readonly isPart: boolean;
}

/**
 * The ids of a text; where it may be cut, those of a first part that is too long already. Parts
 * double, until one is. Throws TextTooLongError for a text of more characters than are looked at.
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
 * characters; "" if none.
 */
function beforeSpace(text: string, length: number): string {
  let end = length;
  while (end > 0 && text[end] !== " " && text[end] !== "\n") end -= 1;
  while (end > 0 && WHITE_SPACE.test(text[end - 1] as string)) end -= 1;
  return text.slice(0, end);
}

const WHITE_SPACE = /\s/;

/** Shorter texts are normalised in no time, whatever is in them. */
const SHORT_TEXT = 1024;

/**
 * Unicode's Stream-Safe Text Format (UAX 15): a joiner after each 30 combining marks in a row,
 * which no language has. To normalise a row of marks takes time that grows with its square, minutes
 * for 800,000 of them, and no thread can be ended meanwhile.
 */
function streamSafe(text: string): string {
  return text.length <= SHORT_TEXT ? text : text.replace(/\p{M}{30}(?=\p{M})/gu, "$&\u034f");
}
