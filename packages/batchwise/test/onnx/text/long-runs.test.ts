// Texts on which a tokenizer takes time that grows with their square.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadHuggingFaceTokenizer } from "../../../src/onnx/text/huggingface-tokenizer.ts";
import { countTokens, type Tokenizer, tokenizeAll, truncateTokens } from "../../../src/onnx/text/tokenizer.ts";

const MODELS = {
  WordPiece: {
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: { "[UNK]": 0, a: 1, "##a": 2 },
    },
  },
  Unigram: {
    normalizer: null,
    pre_tokenizer: { type: "Metaspace", replacement: "\u2581", prepend_scheme: "always", split: true },
    model: {
      type: "Unigram",
      unk_id: 0,
      vocab: [
        ["<unk>", 0],
        ["a", -1],
        ["aa", -1.5],
        ["\u2581", -2],
      ],
    },
  },
  "byte-level BPE": {
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
    model: { type: "BPE", vocab: { a: 0, aa: 1, aaaa: 2 }, merges: ["a a", "aa aa"] },
  },
} as const;

async function load(kind: keyof typeof MODELS): Promise<Tokenizer> {
  const folder = await mkdtemp(join(tmpdir(), "batchwise-runs-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "tokenizer.json");
  const rest = { version: "1.0", added_tokens: [], post_processor: null, decoder: null };
  await writeFile(path, JSON.stringify({ ...rest, ...MODELS[kind] }));
  return await loadHuggingFaceTokenizer(path);
}

describe.each(["WordPiece", "Unigram", "byte-level BPE"] as const)("with %s", (kind) => {
  test("a text without white space is refused before it stops the event loop, and what is taken does not", async () => {
    const tokenizer = await load(kind);
    for (const letter of ["a", "\u4e01", "!", "b"]) {
      for (const count of [countTokens, truncateTokens]) {
        const texts = [letter.repeat(51_000), letter.repeat(4_097), `${letter.repeat(3_000)} `.repeat(10)];
        for (const text of texts) {
          const answer = tokenizeAll(tokenizer, [text], 512, { nameOf: () => "input" }, count);
          await expect(answer).rejects.toMatchObject({ code: "MODEL_INPUT", message: expect.stringContaining("4096") });
        }
      }
      const times = Array.from({ length: 4 }, () => {
        const before = process.threadCpuUsage();
        countTokens(tokenizer, letter.repeat(4_096), 512);
        const { user, system } = process.threadCpuUsage(before);
        return (user + system) / 1_000;
      });
      expect(Math.min(...times)).toBeLessThan(100);
    }
  });

  test("a long text of words is taken", async () => {
    const tokenizer = await load(kind);
    expect(countTokens(tokenizer, "aaaa ".repeat(10_000), 100_000).ids).not.toBeNull();
  });

  test("a long text of a script without white space is taken, by its punctuation", async () => {
    const tokenizer = await load(kind);
    expect(countTokens(tokenizer, "aaaaaaaaaaaaaaaaaaaaaaa\u3002".repeat(500), 100_000).ids).not.toBeNull();
    const answer = tokenizeAll(tokenizer, ["aaaa\u3002".repeat(10_000)], 100_000);
    await expect(answer).rejects.toMatchObject({ code: "MODEL_INPUT" });
  });
});
