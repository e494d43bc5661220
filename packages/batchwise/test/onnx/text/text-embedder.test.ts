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

/** Vectors that tell the second id of their lists. */
const secondIds = ({ rows, columns, ids }: TokenBatch): Partial<VectorBlock> => ({
  data: Float32Array.from({ length: rows * 2 }, (_, at) => (at % 2 === 0 ? Number(ids[(at / 2) * columns + 1]) : 1)),
});

describe("lists of ids that the caller fills again after the call", () => {
  test.each([
    ["an Int32Array", Int32Array.of(1, 10, 2)],
    ["a Uint16Array", Uint16Array.of(1, 10, 2)],
    ["a plain list", [1, 10, 2]],
    ["an object with a length", { 0: 1, 1: 10, 2: 2, length: 3 }],
  ])(
    "get the vectors of their original content: %s",
    async (_, list: { [index: number]: number; readonly length: number }) => {
      const embedder = embedderOf(secondIds);
      const first = embedder.embedTokens([list]);
      list[1] = 20;
      const second = embedder.embedTokens([list]);
      list[1] = 5_000;
      expect((await first)[0]?.[0]).toBe(10);
      expect((await second)[0]?.[0]).toBe(20);
    },
  );
});

describe("a value of a wrong type", () => {
  const embedder = (): ThreadedEmbedder => embedderOf(secondIds);
  const INVALID_OPTION = "INVALID_OPTION";

  test.each([
    [{ timoutMs: 1 }, "Unknown option `timoutMs`, did you mean `timeoutMs`?"],
    [null, "Expected `options` to be an object, got `null`"],
    [[], "Expected `options` to be an object, got an object (Array)"],
    [{ caller: 7 }, "Expected `caller` to be a string"],
    [{ timeoutMs: "1" }, "Expected `timeoutMs` to be"],
    [{ priority: "high" }, "Expected `priority` to be"],
  ])("options of a call, %o, are refused by name", async (options, words) => {
    const error = { code: INVALID_OPTION, message: expect.stringContaining(words) };
    await expect(embedder().embed(["a"], options as never)).rejects.toMatchObject(error);
    await expect(embedder().embedTokens([[1, 3, 2]], options as never)).rejects.toMatchObject(error);
  });

  test("options of tokenize are refused by name", async () => {
    const message = "Unknown option `signals`, did you mean `signal`?";
    const call = embedder().tokenize(["a"], { signals: 1 } as never);
    await expect(call).rejects.toMatchObject({ code: INVALID_OPTION, message });
    await expect(embedder().tokenize(["a"], null as never)).rejects.toMatchObject({ code: INVALID_OPTION });
  });

  test.each([["ab"], [null], [[7]], [{}]])("texts, %o, are refused with the expected type", async (texts) => {
    const error = { code: "MODEL_INPUT", message: expect.stringContaining("Expected `texts` to be a list of strings") };
    await expect(embedder().tokenize(texts as never)).rejects.toMatchObject(error);
    await expect(embedder().embed(texts as never)).rejects.toMatchObject(error);
  });

  test.each([
    [null, "Expected `lists` to be a list of lists of token ids, got `null`"],
    [Int32Array.of(1, 3, 2), "Expected `lists` to be a list of lists of token ids, got an object (Int32Array)"],
    [[null], "Expected `lists[0]` to be a list of token ids, got `null`"],
    [[[1, 3, 2], 7], "Expected `lists[1]` to be a list of token ids, got `7` (number)"],
    [["132"], "Expected `lists[0]` to be a list of token ids, got `132` (string)"],
    [[{ length: 0.5 }], "Expected `lists[0]` to be a list of token ids, got an object (Object)"],
  ])("lists, %o, are refused with the expected type", async (lists, words) => {
    const error = { code: "MODEL_INPUT", message: expect.stringContaining(words) };
    await expect(embedder().embedTokens(lists as never)).rejects.toMatchObject(error);
  });
});
