import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../../server/test/support/folders.ts";
import { WORD_PIECES, wordPieceDefinition } from "../../../../server/test/support/word-piece.ts";
import { loadHuggingFaceTokenizer } from "../../../src/onnx/text/huggingface-tokenizer.ts";
import type { Tokenizer } from "../../../src/onnx/text/tokenizer.ts";

async function written(content: string): Promise<string> {
  const path = join(await temporaryFolder(), "tokenizer.json");
  await writeFile(path, content);
  return path;
}

const load = (path: string): Promise<Tokenizer> => loadHuggingFaceTokenizer({ path, lowers: false });

describe("a tokenizer.json", () => {
  test("splits words into its pieces and puts its marks around them", async () => {
    const tokenizer = await load(await written(JSON.stringify(wordPieceDefinition())));
    const pieces = tokenizer.encode("Playing the Piano, unheard!").map((id) => WORD_PIECES[id]);
    expect(pieces).toEqual(["[CLS]", "play", "##ing", "the", "piano", ",", "[UNK]", "!", "[SEP]"]);
    expect(tokenizer.vocabularySize).toBe(WORD_PIECES.length);
    expect(tokenizer.paddingId).toBe(0);
  });

  test("does not cut a long text short, so that the service can refuse it", async () => {
    const tokenizer = await load(await written(JSON.stringify(wordPieceDefinition())));
    expect(tokenizer.encode("rain ".repeat(50))).toHaveLength(52);
  });

  test("is refused with its path when it is missing, not JSON, or something else", async () => {
    await expect(load("/nowhere/tokenizer.json")).rejects.toThrow("/nowhere/tokenizer.json");
    for (const content of ["{", "[]", '{"vocab":{}}']) {
      const path = await written(content);
      await expect(load(path)).rejects.toThrow(`Cannot read the tokenizer ${path}`);
    }
  });

  test("is refused with its path when it lacks a part, or has no tokens: every word would be the same", async () => {
    const { decoder, ...lacking } = { decoder: null, ...wordPieceDefinition() };
    const parts = { decoder, normalizer: null, pre_tokenizer: null, post_processor: null, added_tokens: [] };
    for (const [content, reason] of [
      [{ ...lacking, decoder: undefined }, "decoder"],
      [{ ...parts, model: { type: "WordPiece", vocab: {} } }, "it has no tokens"],
      [{ ...parts, model: { type: "Foo", vocab: {} } }, "it has no tokens"],
    ] as const) {
      const path = await written(JSON.stringify(content));
      const refusal = load(path);
      await expect(refusal).rejects.toThrow(`Cannot read the tokenizer ${path}`);
      await expect(refusal).rejects.toThrow(reason);
    }
  });
});
