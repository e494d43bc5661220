/**
 * The tokenizer of the built-in model: words and punctuation marks, each hashed to an id.
 *
 * Guarantees: the same word has the same id on every machine. Case and compatibility forms do not
 * matter. Time is linear in the length of the text. Two words may share an id (with 8,192 ids,
 * about one pair in 8,000). Does not split words into known parts, so "run" and "running" have
 * nothing in common.
 */

import type { Tokenizer } from "batchwise/onnx";
import { SPECIAL_TOKENS } from "./encoder-model.ts";

// In scripts without spaces each character is a word; elsewhere each run of letters and digits.
const TOKEN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\p{L}\p{M}\p{N}_]{1,64}|[^\s\p{L}\p{M}\p{N}_]/gu;

export function hashingTokenizer(vocabularySize: number): Tokenizer {
  const words = vocabularySize - SPECIAL_TOKENS.count;
  if (!Number.isInteger(words) || words < 1) {
    throw new RangeError(`Expected \`vocabularySize\` to be an integer above ${SPECIAL_TOKENS.count}`);
  }
  return {
    vocabularySize,
    paddingId: SPECIAL_TOKENS.padding,
    splitsAtSpaces: true,
    encode(text) {
      const ids: number[] = [SPECIAL_TOKENS.classify];
      for (const [word] of text.normalize("NFKC").toLowerCase().matchAll(TOKEN)) {
        ids.push(SPECIAL_TOKENS.count + (hash(word) % words));
      }
      ids.push(SPECIAL_TOKENS.separate);
      return ids;
    },
  };
}

/** FNV-1a over UTF-16 units, with a final mix so that `%` sees all bits. */
function hash(word: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < word.length; index += 1) {
    value = Math.imul(value ^ word.charCodeAt(index), 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  return (value ^ (value >>> 13)) >>> 0;
}
