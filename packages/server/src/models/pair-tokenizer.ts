/**
 * A `tokenizer.json` without a trained vocabulary: WordPiece over single letters and pairs of
 * letters.
 *
 * Guarantees: the special tokens have the ids of `SPECIAL_TOKENS`. A word of Latin letters and
 * digits becomes one token per two letters. Upper case and accents do not matter. Other letters are
 * unknown.
 */

import { SPECIAL_TOKENS } from "./encoder-model.ts";

const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];
const CHARACTERS = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).filter(
  (character) => character === character.toLowerCase(),
);

export interface TokenizerFile {
  readonly definition: Readonly<Record<string, unknown>>;
  readonly vocabularySize: number;
}

export function pairTokenizer(): TokenizerFile {
  const marks: string[] = [];
  marks[SPECIAL_TOKENS.padding] = "[PAD]";
  marks[SPECIAL_TOKENS.classify] = "[CLS]";
  marks[SPECIAL_TOKENS.separate] = "[SEP]";
  marks.push("[UNK]");
  const pieces = [...CHARACTERS, ...LETTERS.flatMap((first) => LETTERS.map((second) => first + second))];
  const words = [...marks, ...pieces, ...pieces.map((piece) => `##${piece}`)];
  const vocabulary = Object.fromEntries(words.map((word, id) => [word, id]));
  return { definition: definitionOf(marks, vocabulary), vocabularySize: words.length };
}

function definitionOf(marks: readonly string[], vocabulary: Readonly<Record<string, number>>): Record<string, unknown> {
  const mark = (id: string): unknown => ({ SpecialToken: { id, type_id: 0 } });
  const special = (id: string): unknown => ({ id, ids: [vocabulary[id]], tokens: [id] });
  const plain = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: marks.map((content, id) => ({ id, content, special: true, ...plain })),
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: true,
      lowercase: true,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "TemplateProcessing",
      single: [mark("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, mark("[SEP]")],
      pair: [mark("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, mark("[SEP]")],
      special_tokens: { "[CLS]": special("[CLS]"), "[SEP]": special("[SEP]") },
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: vocabulary,
    },
  };
}
