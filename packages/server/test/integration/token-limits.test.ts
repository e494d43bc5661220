// The number of tokens that a model takes, found from its files, on graphs that fail on one more.

import { join } from "node:path";
import { openEmbedder as openTextModel } from "batchwise/onnx";
import { describe, expect, test } from "vitest";
import { hashingTokenizer } from "../../src/models/hashing-tokenizer.ts";
import { openEmbedder } from "../support/embedders.ts";
import { exportFolder, PADDING, tableGraph } from "../support/exports.ts";
import { smallEncoder } from "../support/small-encoder.ts";
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

describe("a limit above the graph's own", () => {
  const model = (positions?: number): Promise<string> => exportFolder(tableGraph({ positions: 702 }), files(positions));
  const files = (positions?: number) =>
    positions === undefined ? {} : { "config.json": { model_type: "roberta", max_position_embeddings: positions } };

  test.each([
    ["where its files say nothing", undefined],
    ["where they say less", 702],
  ])("is refused at opening, with both numbers, %s", async (_, positions) => {
    const opening = openEmbedder({ model: await model(positions), pooling: "mean", maxTokens: 4_096 });
    const numbers = "--max-tokens asks for texts of 4096 tokens, but the model takes at most 700 (";
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

  test("is lowered to the graph's where the user gave none", async () => {
    const folder = await exportFolder(tableGraph({ positions: 302 }), {
      "tokenizer_config.json": { model_max_length: 1e30 },
    });
    const embedder = await openEmbedder({ model: folder, pooling: "mean" });
    expect(embedder.model.maxTokens).toBe(300);
    expect(await embedder.embed([list(300)])).toHaveLength(1);
  });

  test("is no limit that its files understate: the graph's may be set", async () => {
    const embedder = await openEmbedder({ model: await model(402), pooling: "mean", maxTokens: 700 });
    expect(await embedder.embed([list(700)])).toHaveLength(1);
  });
});

describe("a limit with no room for a text beside the special tokens", () => {
  const model = (): Promise<string> => exportFolder(tableGraph());

  test.each([1, 2])("is refused by the name of its flag: %i", async (maxTokens) => {
    const opening = openEmbedder({ ...(await smallEncoder()), maxTokens });
    const message = `--max-tokens allows at most ${maxTokens} tokens a text, but its tokenizer puts 2 special tokens around each, so no text fits; expected at least 3`;
    await expect(opening).rejects.toMatchObject({ code: "MODEL_LOAD", message });
  });

  test("is refused where the model's files have it", async () => {
    const model = await exportFolder(tableGraph(), { "config.json": { max_position_embeddings: 2 } });
    await expect(openEmbedder({ model, pooling: "mean" })).rejects.toThrow("The model takes at most 2 tokens a text");
  });

  test("is refused by the name of the library's option", async () => {
    const opening = openTextModel({ model: await model(), pooling: "mean", maxTokens: 2, workers: 1 });
    const message = expect.stringMatching(/^`maxTokens` allows at most 2 tokens a text, /) as string;
    await expect(opening).rejects.toMatchObject({ code: "MODEL_LOAD", message });
  });

  test("is not known of a tokenizer that adds none, or does not report them", async () => {
    const path = join(await model(), "model.onnx");
    const { encode, ...tokenizer } = hashingTokenizer(WORD_PIECES.length);
    for (const unmarked of [(text: string) => encode(text).slice(1, -1), () => [5]]) {
      const described = { path, tokenizer: { ...tokenizer, encode: unmarked }, maxTokens: 1, pooling: "mean" } as const;
      await using embedder = await openTextModel({ model: described, workers: 1 });
      expect(await embedder.embed(["grey"])).toHaveLength(1);
    }
  });

  test("is one token less than the least that is taken", async () => {
    const embedder = await openEmbedder({ ...(await smallEncoder()), maxTokens: 3, truncate: true });
    const [count] = await embedder.tokenize(["grey rain"]);
    expect(count).toMatchObject({ tokens: 3 });
  });
});

test("a limit above the built-in model's is refused by the name of its flag", async () => {
  const opening = openEmbedder({ ...(await smallEncoder()), maxTokens: 65 });
  await expect(opening).rejects.toThrow("--max-tokens asks for texts of 65 tokens, but the model takes at most 64");
});
