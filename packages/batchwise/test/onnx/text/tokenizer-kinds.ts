// A tokenizer.json of each kind that models have, with made-up words, and texts on which each takes
// longest.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { mulberry32 } from "../../../../server/src/models/seeded-weights.ts";
import { loadHuggingFaceTokenizer } from "../../../src/onnx/text/huggingface-tokenizer.ts";
import type { Tokenizer } from "../../../src/onnx/text/tokenizer.ts";

export const KINDS = ["Unigram", "byte-level BPE", "WordPiece"] as const;
export type Kind = (typeof KINDS)[number];

const LETTERS: readonly string[] = [..."abcdefghijklmnopqrstuvwxyz"];
const SPECIAL: readonly string[] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];

function madeUpWords(count: number, random: () => number): string[] {
  const letter = (): string => LETTERS[Math.floor(random() * LETTERS.length)] as string;
  return Array.from({ length: count }, () => Array.from({ length: 1 + Math.floor(random() * 7) }, letter).join(""));
}

export const WORDS: readonly string[] = [...new Set(madeUpWords(2_000, mulberry32(1)))];
const PIECES: readonly string[] = [
  ...new Set([...LETTERS, ..."?!.,123456789", ...WORDS.map((word) => word.slice(0, 3))]),
];

interface Parts {
  readonly normalizer: unknown;
  readonly pre_tokenizer: unknown;
  readonly model: { readonly type: string; readonly [name: string]: unknown };
}

/** Ids in the order of the tokens. */
const numbered = (tokens: Iterable<string>): Record<string, number> =>
  Object.fromEntries([...new Set(tokens)].map((token, id) => [token, id]));

function unigram(): Parts {
  const random = mulberry32(2);
  const tokens = new Set([...SPECIAL, "\u2581", ...PIECES, ...WORDS.map((word) => `\u2581${word}`)]);
  return {
    normalizer: { type: "NFKC" },
    pre_tokenizer: { type: "Metaspace", replacement: "\u2581", prepend_scheme: "always", split: true },
    model: { type: "Unigram", unk_id: 1, vocab: [...tokens].map((token) => [token, -3 - random() * 9]) },
  };
}

function bytePairs(): Parts {
  const bytes = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));
  const rest = Array.from({ length: 256 }, (_, index) => String.fromCharCode(161 + index));
  const tokens = [...SPECIAL, ...bytes, ...rest];
  const merges = new Map<string, readonly [string, string]>();
  const merge = (left: string, right: string): void => {
    if (merges.has(left + right)) return;
    merges.set(left + right, [left, right]);
    tokens.push(left + right);
  };
  for (const word of WORDS) {
    for (let end = 0; end < word.length; end += 1) merge(`\u0120${word.slice(0, end)}`, word[end] as string);
  }
  for (const letter of LETTERS) merge(letter, letter);
  return {
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
    model: { type: "BPE", vocab: numbered(tokens), merges: [...merges.values()] },
  };
}

function wordPiece(): Parts {
  return {
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: numbered([...SPECIAL, ...WORDS, ...PIECES, ...PIECES.map((piece) => `##${piece}`)]),
    },
  };
}

const PARTS: Readonly<Record<Kind, () => Parts>> = {
  Unigram: unigram,
  "byte-level BPE": bytePairs,
  WordPiece: wordPiece,
};

/** More ids than any of them has. */
export const MAX_IDS = 20_000;

export function tokenizerJson(kind: Kind): Record<string, unknown> {
  const mark = (id: string): unknown => ({ SpecialToken: { id, type_id: 0 } });
  const special = (id: string): unknown => ({ id, ids: [SPECIAL.indexOf(id)], tokens: [id] });
  const flags = { special: true, single_word: false, lstrip: false, rstrip: false, normalized: false };
  const around = [mark("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, mark("[SEP]")];
  return {
    version: "1.0",
    added_tokens: SPECIAL.map((content, id) => ({ id, content, ...flags })),
    post_processor: {
      type: "TemplateProcessing",
      single: around,
      pair: around,
      special_tokens: { "[CLS]": special("[CLS]"), "[SEP]": special("[SEP]") },
    },
    decoder: null,
    ...PARTS[kind](),
  };
}

/**
 * Takes hours for a word of 40,000 letters: it tries all parts of a word, and has no bound on its
 * length.
 */
export function endlessWordPiece(): Record<string, unknown> {
  const { model, ...rest } = tokenizerJson("WordPiece");
  return { ...rest, model: { ...(model as object), max_input_chars_per_word: 1e9 } };
}

/** Writes a tokenizer.json, and removes it after the test. */
export async function writtenTokenizer(definition: Record<string, unknown>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "batchwise-tokenizer-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "tokenizer.json");
  await writeFile(path, JSON.stringify(definition));
  return path;
}

export async function loadKind(kind: Kind, changes: Record<string, unknown> = {}): Promise<Tokenizer> {
  const path = await writtenTokenizer({ ...tokenizerJson(kind), ...changes });
  return await loadHuggingFaceTokenizer({ path, lowers: false });
}

/**
 * Texts of about so many characters that take tokenizers long: the worst of each kind is among
 * them.
 */
export function hardTexts(length: number): Readonly<Record<string, string>> {
  const filled = (part: string): string => part.repeat(Math.ceil(length / part.length)).slice(0, length);
  return {
    "characters outside of the vocabulary": filled("\u4e01"),
    "one letter": filled("a"),
    "words of a hundred letters": filled(`${"q".repeat(100)} `),
    "combining marks": `a${filled("\u0301\u0316")}`,
    punctuation: filled("!?"),
    emoji: filled("\u{1f600}"),
    spaces: `${filled(" ")}a`,
  };
}
