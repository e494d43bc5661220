// Classifiers, whose scores are no embeddings, are refused at start.

import { describe, expect, test } from "vitest";
import { Embedder } from "../../src/models/embedder.ts";
import { openEmbedder } from "../support/embedders.ts";
import { exportFolder, tableGraph } from "../support/exports.ts";

const LABELS = { "config.json": { id2label: { 0: "good", 1: "bad", 2: "neither" } } };

describe("a classifier is refused with the way out", () => {
  test.each([
    ["by the name logits", tableGraph({ width: 3, output: "logits" }), {}, "`logits`"],
    ["by the name logits, of tokens", tableGraph({ outputName: "logits" }), {}, "`logits`"],
    ["by its one number", tableGraph({ width: 1, output: "mean", outputName: "score" }), {}, "one number"],
    ["by its labels", tableGraph({ width: 3, output: "mean", outputName: "scores" }), LABELS, "3 numbers, as many"],
    ["by its labels, of tokens", tableGraph({ width: 3, outputName: "scores" }), LABELS, "3 numbers, as many"],
  ])("%s", async (_, graph, files, message) => {
    const refused = Embedder.open({ model: await exportFolder(graph, files), workers: 1 });
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toThrow("optimum-cli export onnx --task feature-extraction");
  });

  test("and an encoder beside labels of another number is not", async () => {
    const embedder = await openEmbedder({ model: await exportFolder(tableGraph({ width: 8 }), LABELS) });
    expect(embedder.model.dimensions).toBe(8);
  });
});
