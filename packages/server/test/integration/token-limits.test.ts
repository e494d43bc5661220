// How many tokens a model takes, found out from its files, on graphs that fail on one more.

import { describe, expect, test } from "vitest";
import { openEmbedder } from "../support/embedders.ts";
import { exportFolder, PADDING, tableGraph } from "../support/exports.ts";

/** Ten positions, of which RoBERTa's way of counting leaves the first two unused. */
const ROBERTA = tableGraph({ positions: 10 });
const list = (length: number): number[] => Array.from({ length }, () => 5);

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
