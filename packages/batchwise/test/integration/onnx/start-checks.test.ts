// The checks of openEmbedder for graphs that are not embedders, on graphs of one table of words.

import { type EmbedderOptions, openEmbedder, type TextEmbedder } from "batchwise/onnx";
import { describe, expect, onTestFinished, test } from "vitest";
import { OnnxGraph } from "../../../../server/src/models/onnx-graph.ts";
import { mulberry32, randomWeights } from "../../../../server/src/models/seeded-weights.ts";
import { fileOf } from "./kit.ts";

const WORDS = 60;
const tokenizer = {
  vocabularySize: WORDS,
  paddingId: 0,
  encode: (text: string) => [1, ...Array.from(text, (letter) => 3 + ((letter.codePointAt(0) ?? 0) % 40)), 2],
};

type Output = "a number a token" | "a score for each pair of tokens" | "vectors of tokens";

function tableGraph(output: Output, table: Float32Array = randomWeights(mulberry32(7), WORDS * 8, 1)): Uint8Array {
  const graph = new OnnxGraph();
  const ids = graph.input("input_ids", "int64", ["batch", "sequence"]);
  const mask = graph.input("attention_mask", "int64", ["batch", "sequence"]);
  const tokens = (width: number, name?: string): string => {
    const weights = graph.weights(table.subarray(0, WORDS * width), width === 1 ? [WORDS] : [WORDS, width]);
    return graph.node("Gather", [weights, ids], {}, name);
  };
  if (output === "a number a token") {
    const real = graph.node("Cast", [mask], { to: { integer: 1 } });
    graph.node("Mul", [tokens(1), real], {}, "embedding");
    graph.output("embedding", "float32", ["batch", "sequence"]);
  } else if (output === "a score for each pair of tokens") {
    const vectors = tokens(8);
    const turned = graph.node("Transpose", [vectors], { perm: { integers: [0, 2, 1] } });
    graph.node("MatMul", [vectors, turned], {}, "last_hidden_state");
    graph.output("last_hidden_state", "float32", ["batch", "sequence", "sequence"]);
  } else {
    tokens(8, "last_hidden_state");
    graph.output("last_hidden_state", "float32", ["batch", "sequence", 8]);
  }
  return graph.finish("table", "a table of words");
}

type Described = Extract<EmbedderOptions["model"], object>;

async function open(bytes: Uint8Array, model: Partial<Described> = {}, options: object = {}): Promise<TextEmbedder> {
  const described = { path: fileOf(bytes), tokenizer, maxTokens: 32, ...model };
  const embedder = await openEmbedder({ model: described, workers: 1, ...options });
  onTestFinished(() => embedder.close());
  return embedder;
}

describe("a graph whose vectors grow with the text", () => {
  test.each(["a number a token", "a score for each pair of tokens"] as const)(
    "%s is refused, with both widths",
    async (output) => {
      await expect(open(tableGraph(output))).rejects.toMatchObject({
        code: "MODEL_LOAD",
        message: expect.stringContaining(
          "Expected vectors of one width, but the model gives 1 and 9 numbers for texts of 1 and 9 tokens: numbers of its tokens and no embedding. Export its encoder",
        ),
      });
    },
  );

  test("is found out where the tokenizer gives one token", async () => {
    const opening = open(tableGraph("a number a token"), { tokenizer: { ...tokenizer, encode: () => [5] } });
    await expect(opening).rejects.toThrow("gives 1 and 2 numbers for texts of 1 and 2 tokens");
  });

  test("is not one that gives vectors of one width", async () => {
    const embedder = await open(tableGraph("vectors of tokens"), { pooling: "mean" });
    expect(embedder.model.dimensions).toBe(8);
  });
});

describe("a model of zeros", () => {
  const table = (...wordsOfZeros: number[]): Float32Array => {
    const weights = randomWeights(mulberry32(7), WORDS * 8, 1);
    for (const word of wordsOfZeros) weights.fill(0, word * 8, word * 8 + 8);
    return weights;
  };
  const plain = { ...tokenizer, encode: (text: string) => tokenizer.encode(text).slice(1, -1) };

  test("is refused at opening", async () => {
    const opening = open(tableGraph("vectors of tokens", table(...Array(WORDS).keys())), { pooling: "mean" });
    await expect(opening).rejects.toMatchObject({
      code: "MODEL_LOAD",
      message: expect.stringContaining("The model gives nothing but zeros for each of 32 random texts"),
    });
  });

  test("for some texts fails only those", async () => {
    const embedder = await open(tableGraph("vectors of tokens", table(5)), { pooling: "mean", tokenizer: plain });
    const lists = [[6], [5], [7, 5], [5, 5], [8]];
    const outcomes = await Promise.allSettled(lists.map((list) => embedder.embedTokens([list])));
    expect(outcomes.map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    const message = "The model gave a vector of zeros, which cannot be scaled to length 1";
    const reason = { code: "MODEL_NOT_FINITE", message: expect.stringContaining(message) };
    expect(outcomes[1]).toMatchObject({ reason });
    await expect(embedder.embedTokens([[5]])).rejects.toMatchObject(reason);
    await expect(embedder.embedTokens([[5], [5, 5]])).rejects.toMatchObject(reason);
  });
});
