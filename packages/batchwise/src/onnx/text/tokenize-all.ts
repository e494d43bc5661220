/**
 * Tokenises many texts without blocking the event loop: short texts in slices of this thread, long
 * texts in another thread.
 *
 * Guarantees: counts are in the order of the texts. Once the signal aborts, no further text is
 * started.
 */

import { inSlices } from "./time-slices.ts";
import type { TokenThread } from "./token-thread.ts";
import { type NamedText, type TokenCount, type Tokenizer, type TokenLimit, tokensOf } from "./tokenizer.ts";

/** Options of one call of `tokenize`. */
export interface TokenizeOptions {
  /** When it aborts, no further text is tokenised, and the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Names the text at an index in errors. Default: `texts[0]` and so on. */
  readonly nameOf?: ((index: number) => string) | undefined;
}

/** The tokenizer, the limit, and the thread for long texts. */
export interface Tokenising {
  readonly tokenizer: Tokenizer;
  readonly limit: TokenLimit;
  /** The thread for long texts. Undefined: they are tokenised in this thread, too. */
  readonly thread?: TokenThread | undefined;
}

/**
 * Longer texts go to the thread. A round trip costs this thread 0.1 to 0.25 ms, as much as
 * WordPiece takes for this many characters of words; and no text of this length takes more than
 * about 5 ms, unless it has a long word.
 */
const MAX_CHARACTERS_HERE = 512;
/**
 * Longer texts with a long word go there, too: WordPiece takes time with the square of a word's
 * length up to a hundred letters, so that 500 characters of such words take 20 ms.
 */
const MAX_CHARACTERS_WITH_LONG_WORD = 128;
const LONG_WORD = /\S{65}/;

/**
 * Tokenises texts in order. Rejects with MODEL_INPUT for a text on which the tokenizer throws, that
 * gets an id which the model does not have, or that takes too long.
 */
export async function tokenizeAll(
  { tokenizer, limit, thread }: Tokenising,
  texts: readonly string[],
  { signal, nameOf = (index) => `texts[${index}]` }: TokenizeOptions = {},
): Promise<TokenCount[]> {
  const counts: TokenCount[] = [];
  // Calls of one text go before calls of thousands.
  const isShort = texts.length === 1;
  for (const [index, text] of texts.entries()) {
    const named: NamedText = { name: nameOf(index), text };
    if (thread !== undefined && mayTakeLong(text)) {
      counts.push(await thread.tokensOf(named, signal));
      continue;
    }
    const next = await inSlices(() => {
      // Checked again here, because a slice may start long after the call.
      signal?.throwIfAborted();
      return tokensOf(tokenizer, named, limit);
    }, isShort);
    counts.push(next);
  }
  return counts;
}

function mayTakeLong(text: string): boolean {
  if (text.length > MAX_CHARACTERS_HERE) return true;
  return text.length > MAX_CHARACTERS_WITH_LONG_WORD && LONG_WORD.test(text);
}
