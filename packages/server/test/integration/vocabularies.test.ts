// Token ids of another vocabulary than the model's.

import { describe, expect, test } from "vitest";
import { createApp } from "../../src/http/app.ts";
import { Embedder } from "../../src/models/embedder.ts";
import { openEmbedder } from "../support/embedders.ts";
import { exportFolder, tableGraph } from "../support/exports.ts";
import { jsonPost } from "../support/json-post.ts";
import { markedPieces, WORD_PIECES } from "../support/word-piece.ts";

const IDS = WORD_PIECES.length;

describe("a tokenizer of another model", () => {
  test("is refused at start where it has ids that the graph does not take", async () => {
    // Its last word only: every text of the first run is within the table.
    const model = await exportFolder(tableGraph({ vocabulary: IDS - 1, output: "mean" }));
    await expect(Embedder.open({ model, workers: 1 })).rejects.toThrow(
      `The tokenizer has ids up to ${IDS - 1}, but the model does not take that id`,
    );
  });

  test("is a warning where the model takes many more ids", async () => {
    const graph = tableGraph({ vocabulary: 3 * IDS });
    const other = await openEmbedder({
      model: await exportFolder(graph, { "config.json": { vocab_size: 3 * IDS } }),
      pooling: "mean",
    });
    expect(other.warnings).toEqual([
      `The tokenizer has ${IDS} ids, but the model's config.json says ${3 * IDS}: it may be another model's. --tokenizer names one.`,
    ]);
    const rounded = await openEmbedder({
      model: await exportFolder(graph, { "config.json": { vocab_size: IDS + 1 } }),
      pooling: "mean",
    });
    expect(rounded.warnings).toEqual([]);
  });

  test("is not blamed where the model fails on everything", async () => {
    const model = await exportFolder(tableGraph({ output: "mean" }), { "model.onnx": tableGraph({ vocabulary: 0 }) });
    await expect(Embedder.open({ model, workers: 1 })).rejects.not.toThrow("tokenizer");
  });
});

describe("token ids of a caller", () => {
  test("past the tokenizer's are refused by place, before the model", async () => {
    const embedder = await openEmbedder({
      model: await exportFolder(tableGraph({ vocabulary: 3 * IDS })),
    });
    const body = {
      model: "export",
      input: [markedPieces([IDS - 1]), markedPieces([IDS])],
    };
    const answer = await createApp({ embedder }).request("/v1/embeddings", jsonPost(body));
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: { code: "invalid_token", message: expect.stringContaining("`input[1]`") },
    });
    expect(embedder.batcher.stats().batches).toBe(0);
  });
});
