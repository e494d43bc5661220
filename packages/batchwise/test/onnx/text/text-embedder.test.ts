import { describe, expect, onTestFinished, test } from "vitest";
import { MEAN_READOUT } from "../../../src/onnx/text/readout.ts";
import { ThreadedEmbedder } from "../../../src/onnx/text/text-embedder.ts";
import type { TokenBatch, VectorBlock } from "../../../src/onnx/text/token-batch.ts";

const tokenizer = { vocabularySize: 60, paddingId: 0, encode: (text: string) => [1, 3 + (text.length % 50), 2] };

/** With threads that `run` stands for; vectors have two numbers. */
function embedderOf(run: (batch: TokenBatch) => Partial<VectorBlock>): ThreadedEmbedder {
  const threads = {
    workers: 1,
    ready: true,
    run: async (batch: TokenBatch) => ({ rows: batch.rows, width: 2, notFinite: [], zeros: [], ...run(batch) }),
    close: async () => undefined,
  };
  const source = { name: "tiny", path: "tiny.onnx", tokenizer, maxTokens: 32, readout: MEAN_READOUT };
  const embedder = new ThreadedEmbedder(
    { source: source as never, threads: threads as never, dimensions: 2, warnings: [] },
    { model: "tiny.onnx" },
  );
  onTestFinished(() => embedder.close());
  return embedder;
}

describe("vectors of another width than the first ones had", () => {
  test("fail their texts", async () => {
    const embedder = embedderOf(({ rows, columns }) => ({ width: columns, data: new Float32Array(rows * columns) }));
    await expect(embedder.embedTokens([[1, 4, 2]])).rejects.toMatchObject({
      code: "MODEL_FAILED",
      message: expect.stringContaining("The model tiny gave vectors of 3 numbers; expected 2"),
    });
  });
});
