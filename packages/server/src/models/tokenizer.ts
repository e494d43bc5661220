/**
 * What the service needs of a tokenizer, and tokenising many texts without holding up the event loop.
 */

import { estimateTokens } from "batchwise";

export interface Tokenizer {
  /** Ids run from 0 to `vocabularySize - 1`. */
  readonly vocabularySize: number;
  readonly paddingId: number;
  /** The ids of a text, with the marks that the model expects around it. */
  encode(text: string): readonly number[];
}

export interface TokenCount {
  /** The text's ids, or null when it is too long for the model. */
  readonly ids: readonly number[] | null;
  /** Exact when `ids` is there; otherwise exact or an estimate. */
  readonly tokens: number;
}

// No tokenizer of ours packs more than about 100 characters into one token; past this a text cannot fit, and
// finding out exactly how far it is over would hold up everyone else.
const MAX_CHARACTERS_PER_TOKEN = 100;

const YIELD_AFTER_MS = 8;

/** Tokenises one text, giving up early on one that cannot fit. */
export function countTokens(tokenizer: Tokenizer, text: string, maxTokens: number): TokenCount {
  if (text.length > maxTokens * MAX_CHARACTERS_PER_TOKEN) {
    return { ids: null, tokens: Math.max(maxTokens + 1, estimateTokens(text)) };
  }
  const ids = tokenizer.encode(text);
  return { ids: ids.length > maxTokens ? null : ids, tokens: ids.length };
}

/** Tokenises texts in order, giving way to other work every few milliseconds. */
export async function tokenizeAll(
  tokenizer: Tokenizer,
  texts: readonly string[],
  maxTokens: number,
): Promise<TokenCount[]> {
  const counts: TokenCount[] = [];
  let sliceStart = performance.now();
  for (const text of texts) {
    counts.push(countTokens(tokenizer, text, maxTokens));
    if (performance.now() - sliceStart >= YIELD_AFTER_MS) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      sliceStart = performance.now();
    }
  }
  return counts;
}
