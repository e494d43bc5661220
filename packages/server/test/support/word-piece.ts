/** A small tokenizer.json like those of BERT models. */

export const WORD_PIECES: readonly string[] = [
  "[PAD]",
  "[UNK]",
  "[CLS]",
  "[SEP]",
  "play",
  "##ing",
  "##ed",
  "the",
  "piano",
  "rain",
  "grey",
  ",",
  "!",
];

/** Ids between those of [CLS] and [SEP]. */
export function markedPieces(ids: readonly number[]): number[] {
  return [WORD_PIECES.indexOf("[CLS]"), ...ids, WORD_PIECES.indexOf("[SEP]")];
}

export function wordPieceDefinition(): Record<string, unknown> {
  const special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];
  const piece = (id: string): unknown => ({ SpecialToken: { id, type_id: 0 } });
  return {
    version: "1.0",
    truncation: { max_length: 8, strategy: "LongestFirst", stride: 0, direction: "Right" },
    padding: { strategy: "BatchLongest", pad_id: 0, pad_token: "[PAD]", pad_type_id: 0, direction: "Right" },
    added_tokens: special.map((content, id) => ({
      id,
      content,
      special: true,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
    })),
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "TemplateProcessing",
      single: [piece("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, piece("[SEP]")],
      pair: [piece("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, piece("[SEP]")],
      special_tokens: {
        "[CLS]": { id: "[CLS]", ids: [2], tokens: ["[CLS]"] },
        "[SEP]": { id: "[SEP]", ids: [3], tokens: ["[SEP]"] },
      },
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(WORD_PIECES.map((word, id) => [word, id])),
    },
  };
}
