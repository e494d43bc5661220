// Graphs in which a text's vector depends on the other texts of its batch.

import { describe, expect, test } from "vitest";
import { createApp } from "../../src/http/app.ts";
import { Embedder } from "../../src/models/embedder.ts";
import { buildEncoder, DEFAULT_ENCODER } from "../../src/models/encoder-model.ts";
import { OnnxGraph } from "../../src/models/onnx-graph.ts";
import { openEmbedder } from "../support/embedders.ts";
import { exportFolder, tableGraph } from "../support/exports.ts";
import { cosine, maxDifference } from "../support/vectors.ts";
import { markedPieces, WORD_PIECES } from "../support/word-piece.ts";

/** One word has numbers far larger than the others, as some tokens of trained models do. */
const OUTLIER = { [WORD_PIECES.length - 1]: Array.from({ length: 32 }, (_, at) => (at % 2 === 0 ? 30 : -30)) };
const QUANTISED = tableGraph({ width: 32, words: OUTLIER, quantised: true });
const LISTS = Array.from({ length: 24 }, (_, index) =>
  markedPieces(Array.from({ length: 1 + index }, (_, place) => (index * 5 + place * 3) % WORD_PIECES.length)),
);

/**
 * The worst cosine and the largest difference between vectors of single requests and of one
 * request.
 */
async function effectOf(embedder: Embedder): Promise<{ cosine: number; difference: number }> {
  const together = await embedder.embed(LISTS);
  let worst = { cosine: 1, difference: 0 };
  for (const [index, list] of LISTS.entries()) {
    const [alone] = await embedder.embed([list]);
    const vector = together[index] ?? [];
    worst = {
      cosine: Math.min(worst.cosine, cosine(alone ?? [], vector)),
      difference: Math.max(worst.difference, maxDifference(alone ?? [], vector)),
    };
  }
  return worst;
}

describe("a dynamically quantised graph", () => {
  test("runs one text at a time, with a warning that has both figures, and in /stats", async () => {
    const embedder = await openEmbedder({ model: await exportFolder(QUANTISED), pooling: "mean" });
    expect(embedder.warnings).toEqual([
      expect.stringMatching(/^A text's vector depends .*cosine 0\.\d{4}.*--batch-anyway/),
    ]);
    expect(await effectOf(embedder)).toMatchObject({ difference: 0 });
    expect(embedder.batcher.options.maxBatchSize).toBe(1);
    const stats = await (await createApp({ embedder }).request("/stats")).json();
    expect(stats).toMatchObject({ warnings: embedder.warnings });
  });

  test("is batched with that option, and its vectors differ", async () => {
    const model = await exportFolder(QUANTISED);
    const embedder = await openEmbedder({ model, pooling: "mean", batchAnyway: true, maxBatchTokens: 1_000 });
    expect(embedder.warnings).toEqual([expect.stringContaining("batching all the same")]);
    const effect = await effectOf(embedder);
    expect(effect.difference).toBeGreaterThan(1e-3);
    expect(effect.cosine).toBeLessThan(0.9999);
  });

  test("is not tried where there are no batches", async () => {
    const embedder = await openEmbedder({ model: await exportFolder(QUANTISED), pooling: "mean", maxBatchSize: 1 });
    expect(embedder.warnings).toEqual([]);
  });
});

describe("other graphs", () => {
  test("that count padding run one text at a time too", async () => {
    const embedder = await openEmbedder({ model: await exportFolder(tableGraph({ output: "mean" })) });
    expect(embedder.warnings).toEqual([expect.stringContaining("running one text at a time")]);
    expect((await effectOf(embedder)).difference).toBe(0);
  });

  test("in float are batched without a warning", async () => {
    const config = { ...DEFAULT_ENCODER, vocabulary: WORD_PIECES.length, maxTokens: 64 };
    const embedder = await openEmbedder({ model: await exportFolder(buildEncoder(config)) });
    expect(embedder.warnings).toEqual([]);
    expect((await effectOf(embedder)).difference).toBeLessThan(1e-6);
    expect(embedder.batcher.options.maxBatchSize).toBe(1024);
  });

  test("that take one row only run one text at a time", async () => {
    const graph = new OnnxGraph();
    const ids = graph.input("input_ids", "int64", [1, "sequence"]);
    const table = graph.weights(
      Float32Array.from({ length: WORD_PIECES.length * 2 }, (_, at) => at + 1),
      [WORD_PIECES.length, 2],
    );
    graph.node("Identity", [graph.node("Gather", [table, ids])], {}, "last_hidden_state");
    graph.output("last_hidden_state", "float32", [1, "sequence", 2]);
    const embedder = await openEmbedder({ model: await exportFolder(graph.finish("one", "one row")), pooling: "mean" });
    expect(embedder.warnings).toEqual([expect.stringContaining("does not take several texts")]);
    expect(await embedder.embed(LISTS)).toHaveLength(LISTS.length);
  });

  test("that give no finite number for any text are refused", async () => {
    const words = Object.fromEntries(WORD_PIECES.map((_, id) => [id, [Number.NaN, 0]]));
    const model = await exportFolder(tableGraph({ width: 2, words }));
    await expect(Embedder.open({ model, workers: 1 })).rejects.toThrow(
      "NaN or infinite numbers for each of 32 random texts",
    );
  });
});
