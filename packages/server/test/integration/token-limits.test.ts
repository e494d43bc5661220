// How many tokens a model takes, found out from its files, on graphs that fail on one more.

import { join } from "node:path";
import { openEmbedder as openTextModel } from "batchwise/onnx";
import { describe, expect, test } from "vitest";
import { hashingTokenizer } from "../../src/models/hashing-tokenizer.ts";
import { openEmbedder } from "../support/embedders.ts";
import { exportFolder, PADDING, tableGraph } from "../support/exports.ts";
import { markedPieces, WORD_PIECES } from "../support/word-piece.ts";

/** Ten positions, of which RoBERTa's way of counting leaves the first two unused. */
const ROBERTA = tableGraph({ positions: 10 });
const list = (length: number): number[] => markedPieces(Array.from({ length: length - 2 }, () => 5));

describe("the longest text", () => {
  test.each(["roberta", "xlm-roberta", "camembert", "mpnet"])(
    "of %s is two tokens under its positions",
    async (type) => {
      const config = { model_type: type, max_position_embeddings: 10, pad_token_id: PADDING };
      const model = await exportFolder(ROBERTA, { "config.json": config });
      const embedder = await openEmbedder({ model, pooling: "mean" });
      expect(embedder.model.maxTokens).toBe(8);
      expect(await embedder.embed([list(8)])).toHaveLength(1);
      await expect(embedder.batcher.submit(list(9))).rejects.toMatchObject({ code: "MODEL_FAILED" });
    },
  );

  test.each([
    ["BERT is its positions", { "config.json": { model_type: "bert", max_position_embeddings: 10 } }, 10],
    [
      "RoBERTa without a padding id in its files",
      { "config.json": { model_type: "roberta", max_position_embeddings: 10 } },
      8,
    ],
    [
      "a sentence-transformers export is the one that it was made with",
      {
        "config.json": { max_position_embeddings: 10 },
        "sentence_bert_config.json": { max_seq_length: 6, do_lower_case: false },
      },
      6,
    ],
  ])("of %s", async (_, files, limit) => {
    const embedder = await openEmbedder({ model: await exportFolder(tableGraph(), files), pooling: "mean" });
    expect(embedder.model.maxTokens).toBe(limit);
  });
});

describe("a limit above what the graph takes", () => {
  const model = (positions?: number): Promise<string> => exportFolder(tableGraph({ positions: 702 }), files(positions));
  const files = (positions?: number) =>
    positions === undefined ? {} : { "config.json": { model_type: "roberta", max_position_embeddings: positions } };

  test.each([
    ["where its files say nothing", undefined],
    ["where they say less", 702],
  ])("is refused at opening, with both numbers, %s", async (_, positions) => {
    const opening = openEmbedder({ model: await model(positions), pooling: "mean", maxTokens: 4_096 });
    const numbers = "`maxTokens` asks for texts of 4096 tokens, but the model takes at most 700 (";
    await expect(opening).rejects.toMatchObject({
      code: "MODEL_LOAD",
      message: expect.stringContaining(numbers) as string,
    });
  });

  test("is refused of a model that is described, too", async () => {
    const path = join(await model(), "model.onnx");
    const tokenizer = { ...hashingTokenizer(WORD_PIECES.length), encode: () => [5, 6, 7] };
    const opening = openTextModel({ model: { path, tokenizer, maxTokens: 701, pooling: "mean" }, workers: 1 });
    await expect(opening).rejects.toThrow("asks for texts of 701 tokens, but the model takes at most 700 (");
  });

  test("is lowered to what it takes where nobody asked for it", async () => {
    const folder = await exportFolder(tableGraph({ positions: 302 }), {
      "tokenizer_config.json": { model_max_length: 1e30 },
    });
    const embedder = await openEmbedder({ model: folder, pooling: "mean" });
    expect(embedder.model.maxTokens).toBe(300);
    expect(await embedder.embed([list(300)])).toHaveLength(1);
  });

  test("is no limit that its files understate: what the graph takes may be asked for", async () => {
    const embedder = await openEmbedder({ model: await model(402), pooling: "mean", maxTokens: 700 });
    expect(await embedder.embed([list(700)])).toHaveLength(1);
  });
});
