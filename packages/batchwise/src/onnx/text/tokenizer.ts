/**
 * What is needed of a tokenizer, and tokenising many texts without holding up the event loop.
 */

import { estimateTokens } from "../../core/api/estimate-tokens.ts";
import { describe } from "../../core/contract/errors.ts";
import { modelInputError, tokenizerFailedError } from "../errors.ts";
import { specialTokensOf } from "./special-tokens.ts";
import { inSlices } from "./time-slices.ts";

/** Texts to token ids. */
export interface Tokenizer {
  /** Ids run from 0 to `vocabularySize - 1`. */
  readonly vocabularySize: number;
  readonly paddingId: number;
  /** Where a text that is too long loses its tokens. Default: right. */
  readonly truncationSide?: "left" | "right";
  /** The ids of a text, with the marks that the model expects around it. */
  encode(text: string): readonly number[];
}

/** The ids, if a model with so many tokens can have a row for each; no other number has a vector. Throws MODEL_INPUT. */
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

// No tokenizer of ours packs more than about 100 characters into one token; past this a text cannot fit, and
// finding out exactly how far it is over would hold up everyone else.
const MAX_CHARACTERS_PER_TOKEN = 100;
/** Words have some 4 characters a token, so texts that fit are hardly longer: they are tokenised in one piece. */
const LOOKED_AT_PER_TOKEN = 8;
/** Shorter texts are, too, whatever fits: that takes a few milliseconds. */
const SMALL_TEXT = 16_384;
/** A part with so many times the tokens that fit shows that its text is too long, whatever becomes of the word at the cut. */
const SURELY_TOO_LONG = 1.25;
const TOKENS_OF_A_WORD = 16;

/** Tokenises one text, giving up early on one that cannot fit. */
export function countTokens(tokenizer: Tokenizer, text: string, maxTokens: number): TokenCount {
  const isHopeless = text.length > maxTokens * MAX_CHARACTERS_PER_TOKEN;
  if (isHopeless) return { ids: null, tokens: Math.max(maxTokens + 1, estimateTokens(text)) };
  const ids = idsOf(tokenizer, text, maxTokens, false);
  if (ids.length <= maxTokens) return { ids, tokens: ids.length };
  const isPart = text.length > Math.max(SMALL_TEXT, maxTokens * LOOKED_AT_PER_TOKEN);
  return { ids: null, tokens: isPart ? Math.max(ids.length, estimateTokens(text)) : ids.length };
}

/** Tokenises as much of one text as fits, with the special tokens around it that are around a whole one. */
export function truncateTokens(tokenizer: Tokenizer, text: string, maxTokens: number): TokenCount {
  const left = tokenizer.truncationSide === "left";
  const ids = idsOf(tokenizer, text, maxTokens, left);
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

/**
 * The ids of a text, or of a part of it that is too long already: a long text is looked at in parts that double, for
 * tokenising all of it in one piece could stop the event loop for seconds.
 */
function idsOf(tokenizer: Tokenizer, text: string, maxTokens: number, left: boolean): readonly number[] {
  const longest = maxTokens * MAX_CHARACTERS_PER_TOKEN;
  for (let perToken = LOOKED_AT_PER_TOKEN; ; perToken *= 2) {
    const length = Math.min(longest, Math.max(SMALL_TEXT, maxTokens * perToken));
    const part = cut(text, length, left);
    checkRuns(part);
    const ids = tokenizer.encode(streamSafe(part));
    const isSure = ids.length > SURELY_TOO_LONG * maxTokens + TOKENS_OF_A_WORD;
    if (isSure || text.length <= length || length === longest) return ids;
  }
}

/** Characters without white space and punctuation that are tokenised in one row. */
const MAX_RUN = 4096;
/** The same with punctuation: Chinese and Japanese have no other gaps. */
const MAX_LINE = 16_384;

/**
 * Throws for a text that would stop the event loop: of a row of characters without white space, Unigram and byte-level
 * BPE take time that grows with its square, seconds for 50,000. Several rows count as the one that takes as long.
 */
function checkRuns(text: string): void {
  if (text.length <= MAX_RUN) return;
  const length = Math.max(asOneRun(text, /[^\s\p{P}]+|\p{P}+/gu), (asOneRun(text, /\S+/g) * MAX_RUN) / MAX_LINE);
  if (length > MAX_RUN) throw new LongRunError(Math.ceil(length));
}

/** The length of the one row that takes as long as all of them. */
function asOneRun(text: string, row: RegExp): number {
  let squares = 0;
  for (const [run] of text.matchAll(row)) squares += run.length ** 2;
  return Math.sqrt(squares);
}

class LongRunError extends Error {
  constructor(length: number) {
    super(
      `has rows of characters without white space that take as long to tokenise as one of ${length}, and at most ${MAX_RUN} are taken. Split them, or leave out what is no text`,
    );
  }
}

/** Shorter texts are normalised in no time, whatever is in them. */
const SHORT_TEXT = 1024;

/**
 * Unicode's Stream-Safe Text Format (UAX 15): a joiner after each 30 combining marks in a row, which no language has. To
 * normalise a row of marks takes time that grows with its square: a second for 50,000 of them.
 */
function streamSafe(text: string): string {
  return text.length <= SHORT_TEXT ? text : text.replace(/\p{M}{30}(?=\p{M})/gu, "$&\u034f");
}

/** At most `length` characters of a text, without half a character at the cut. */
function cut(text: string, length: number, left: boolean): string {
  if (text.length <= length) return text;
  if (left) return text.slice(text.length - length).replace(/^[\udc00-\udfff]/, "");
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, "");
}

/** Options of one call of `tokenize`. */
export interface TokenizeOptions {
  /** Once it aborts, no further text is tokenised, and the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** What errors call the text at an index. Default: `texts[0]` and so on. */
  readonly nameOf?: ((index: number) => string) | undefined;
}

/**
 * Tokenises texts in order, giving way to other work every few milliseconds, however many do so at once. Rejects with
 * MODEL_INPUT for a text on which the tokenizer throws, or for which it gives an id that is none, or with more than 4,096
 * characters in a row without white space.
 */
export async function tokenizeAll(
  tokenizer: Tokenizer,
  texts: readonly string[],
  maxTokens: number,
  { signal, nameOf = (index) => `texts[${index}]` }: TokenizeOptions = {},
  count: typeof countTokens = countTokens,
): Promise<TokenCount[]> {
  const counts: TokenCount[] = [];
  // Callers of one text do not wait for those of thousands.
  const isShort = texts.length === 1;
  for (const [index, text] of texts.entries()) {
    const next = await inSlices(() => {
      // Looked at here, because a slice may begin long after it was asked for.
      signal?.throwIfAborted();
      const name = nameOf(index);
      const counted = countNamed(name, () => count(tokenizer, text, maxTokens));
      if (counted.ids !== null) checkIds(name, counted.ids, tokenizer.vocabularySize);
      return counted;
    }, isShort);
    counts.push(next);
  }
  return counts;
}

function countNamed(name: string, count: () => TokenCount): TokenCount {
  try {
    return count();
  } catch (error) {
    if (error instanceof LongRunError) throw modelInputError(`\`${name}\` ${error.message}`);
    throw tokenizerFailedError(name, error);
  }
}
