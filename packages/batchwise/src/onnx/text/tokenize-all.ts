/**
 * Tokenises many texts without holding up the event loop: short ones in this thread, in slices;
 * long ones in a thread.
 *
 * Guarantees: counts in the order of the texts; once the signal aborts, no further text is begun.
 */

import { inSlices } from "./time-slices.ts";
import type { TokenThread } from "./token-thread.ts";
import { type NamedText, type TokenCount, type Tokenizer, type TokenLimit, tokensOf } from "./tokenizer.ts";

/** Options of one call of `tokenize`. */
export interface TokenizeOptions {
  /** Once it aborts, no further text is tokenised, and the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** What errors call the text at an index. Default: `texts[0]` and so on. */
  readonly nameOf?: ((index: number) => string) | undefined;
}

/** How texts are tokenised. */
export interface Tokenising {
  readonly tokenizer: Tokenizer;
  readonly limit: TokenLimit;
  /** For long texts. Undefined: they are tokenised in this thread, too. */
  readonly thread?: TokenThread | undefined;
}

/**
 * Longer texts go to the thread. The way there and back costs this thread 0.1 to 0.25 ms, as much
 * as WordPiece takes for so many characters of words; and no text of so many takes more than some 5
 * ms, whatever is in it.
 */
const MAX_CHARACTERS_HERE = 512;

/**
 * Tokenises texts in order. Rejects with MODEL_INPUT for a text on which the tokenizer throws, for
 * which it gives an id that is none, or which takes the thread too long.
 */
export async function tokenizeAll(
  { tokenizer, limit, thread }: Tokenising,
  texts: readonly string[],
  { signal, nameOf = (index) => `texts[${index}]` }: TokenizeOptions = {},
): Promise<TokenCount[]> {
  const counts: TokenCount[] = [];
  // Callers of one text do not wait for those of thousands.
  const isShort = texts.length === 1;
  for (const [index, text] of texts.entries()) {
    const named: NamedText = { name: nameOf(index), text };
    if (thread !== undefined && text.length > MAX_CHARACTERS_HERE) {
      counts.push(await thread.tokensOf(named, signal));
      continue;
    }
    const next = await inSlices(() => {
      // Looked at here, because a slice may begin long after it was asked for.
      signal?.throwIfAborted();
      return tokensOf(tokenizer, named, limit);
    }, isShort);
    counts.push(next);
  }
  return counts;
}
