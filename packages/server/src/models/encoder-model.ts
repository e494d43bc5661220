/**
 * Writes a small BERT-shaped encoder as an .onnx file from a seed, so that the service can run a
 * real transformer where no model can be downloaded.
 *
 * Guarantees: the same config gives the same bytes. `batch` and `sequence` are free. A row's vector
 * does not depend on its neighbours or on padding (up to rounding of float32). Texts with common
 * words get similar vectors, because the vector stays close to the mean of its words' random
 * vectors. Does not understand language: the weights are random and untrained.
 */

import { OnnxGraph } from "./onnx-graph.ts";
import { constantWeights, mulberry32, randomWeights } from "./seeded-weights.ts";

/** Ids shared by the built-in tokenizer and the built-in model. */
export const SPECIAL_TOKENS = { padding: 0, classify: 1, separate: 2, count: 3 } as const;

export interface EncoderConfig {
  readonly layers: number;
  /** Width of the vectors; a multiple of `heads`. */
  readonly hidden: number;
  readonly heads: number;
  readonly feedForward: number;
  readonly vocabulary: number;
  /** Longest text in tokens. */
  readonly maxTokens: number;
  readonly seed: number;
  /**
   * The output of the graph: `embedding` is [batch, hidden], pooled and of length 1; `tokens` is
   * the usual export of a trained model, `last_hidden_state` [batch, sequence, hidden], with an
   * input `token_type_ids`.
   */
  readonly output: "embedding" | "tokens";
}

export const DEFAULT_ENCODER: EncoderConfig = Object.freeze({
  layers: 2,
  hidden: 128,
  heads: 2,
  feedForward: 512,
  vocabulary: 8192,
  maxTokens: 512,
  seed: 20_771,
  output: "embedding",
});

const WORD_DEVIATION = 1;
// Small compared with the words: a word's position should hardly change the vector.
const POSITION_DEVIATION = 0.1;
// Small enough that two layers change the words' vectors without erasing them.
const MATRIX_DEVIATION = 0.03;
const NORM_EPSILON = 1e-12;
const MASKED_SCORE = -10_000;

/** The bytes of the .onnx file. */
export function buildEncoder(config: EncoderConfig): Uint8Array {
  const writer = new EncoderWriter(config);
  return writer.write();
}

class EncoderWriter {
  readonly #config: EncoderConfig;
  readonly #graph: OnnxGraph = new OnnxGraph();
  readonly #random: () => number;

  constructor(config: EncoderConfig) {
    if (config.hidden % config.heads !== 0) {
      throw new RangeError(`Expected \`hidden\` (${config.hidden}) to be a multiple of \`heads\` (${config.heads})`);
    }
    this.#config = config;
    this.#random = mulberry32(config.seed);
  }

  write(): Uint8Array {
    const { hidden, layers, output } = this.#config;
    const graph = this.#graph;
    const ids = graph.input("input_ids", "int64", ["batch", "sequence"]);
    const mask = graph.node("Cast", [graph.input("attention_mask", "int64", ["batch", "sequence"])], {
      to: { integer: 1 },
    });
    let state = this.#embed(ids);
    const blocked = this.#blockedScores(mask);
    for (let layer = 0; layer < layers; layer += 1) {
      state = this.#norm(graph.node("Add", [state, this.#attention(state, blocked)]));
      state = this.#norm(graph.node("Add", [state, this.#feedForward(state)]));
    }
    if (output === "tokens") {
      graph.node("Identity", [state], {}, "last_hidden_state");
      graph.output("last_hidden_state", "float32", ["batch", "sequence", hidden]);
    } else {
      this.#pool(state, mask);
      graph.output("embedding", "float32", ["batch", hidden]);
    }
    return graph.finish("batchwise-encoder", "Untrained encoder with seeded random weights");
  }

  #embed(ids: string): string {
    const { hidden, maxTokens, vocabulary, output } = this.#config;
    const graph = this.#graph;
    const words = randomWeights(this.#random, vocabulary * hidden, WORD_DEVIATION);
    // Every text has both special tokens. Opposite vectors cancel in the mean; equal ones would
    // make all texts similar.
    const classify = SPECIAL_TOKENS.classify * hidden;
    const separate = SPECIAL_TOKENS.separate * hidden;
    for (let index = 0; index < hidden; index += 1) words[separate + index] = -(words[classify + index] ?? 0);
    const positions = graph.weights(randomWeights(this.#random, maxTokens * hidden, POSITION_DEVIATION), [
      maxTokens,
      hidden,
    ]);
    const length = graph.node("Slice", [
      graph.node("Shape", [ids]),
      graph.integers([1]),
      graph.integers([2]),
      graph.integers([0]),
    ]);
    const here = graph.node("Slice", [positions, graph.integers([0]), length, graph.integers([0])]);
    let sum = graph.node("Add", [graph.node("Gather", [graph.weights(words, [vocabulary, hidden]), ids]), here]);
    if (output === "tokens") {
      const types = graph.weights(randomWeights(this.#random, 2 * hidden, POSITION_DEVIATION), [2, hidden]);
      const typeIds = graph.input("token_type_ids", "int64", ["batch", "sequence"]);
      sum = graph.node("Add", [sum, graph.node("Gather", [types, typeIds])]);
    }
    return this.#norm(sum);
  }

  /**
   * 0 where the mask is 1 and a large negative number where it is 0, in a shape that can be added
   * to [batch, heads, from, to].
   */
  #blockedScores(mask: string): string {
    const graph = this.#graph;
    const absent = graph.node("Sub", [this.#scalar(1), mask]);
    const scores = graph.node("Mul", [absent, this.#scalar(MASKED_SCORE)]);
    return graph.node("Unsqueeze", [scores, graph.integers([1, 2])]);
  }

  #attention(state: string, blocked: string): string {
    const { heads, hidden } = this.#config;
    const graph = this.#graph;
    const size = hidden / heads;
    const split = (order: readonly number[]): string => {
      const rows = graph.node("Reshape", [this.#linear(state, hidden, hidden), graph.integers([0, 0, heads, size])]);
      return graph.node("Transpose", [rows], { perm: { integers: order } });
    };
    const query = split([0, 2, 1, 3]);
    const key = split([0, 2, 3, 1]);
    const value = split([0, 2, 1, 3]);
    const scores = graph.node("Mul", [graph.node("MatMul", [query, key]), this.#scalar(1 / Math.sqrt(size))]);
    const shares = graph.node("Softmax", [graph.node("Add", [scores, blocked])], { axis: { integer: 3 } });
    const mixed = graph.node("Transpose", [graph.node("MatMul", [shares, value])], {
      perm: { integers: [0, 2, 1, 3] },
    });
    return this.#linear(graph.node("Reshape", [mixed, graph.integers([0, 0, hidden])]), hidden, hidden);
  }

  #feedForward(state: string): string {
    const { feedForward, hidden } = this.#config;
    return this.#linear(this.#gelu(this.#linear(state, hidden, feedForward)), feedForward, hidden);
  }

  /** x/2 * (1 + erf(x / sqrt 2)), the exact form (Hendrycks and Gimpel 2016). */
  #gelu(x: string): string {
    const graph = this.#graph;
    const erf = graph.node("Erf", [graph.node("Div", [x, this.#scalar(Math.SQRT2)])]);
    const gate = graph.node("Mul", [graph.node("Add", [erf, this.#scalar(1)]), this.#scalar(0.5)]);
    return graph.node("Mul", [x, gate]);
  }

  #linear(x: string, from: number, to: number): string {
    const graph = this.#graph;
    const matrix = graph.weights(randomWeights(this.#random, from * to, MATRIX_DEVIATION), [from, to]);
    const bias = graph.weights(constantWeights(to, 0), [to]);
    return graph.node("Add", [graph.node("MatMul", [x, matrix]), bias]);
  }

  #norm(x: string): string {
    const { hidden } = this.#config;
    const gain = this.#graph.weights(constantWeights(hidden, 1), [hidden]);
    const bias = this.#graph.weights(constantWeights(hidden, 0), [hidden]);
    return this.#graph.node("LayerNormalization", [x, gain, bias], {
      axis: { integer: 2 },
      epsilon: { float: NORM_EPSILON },
    });
  }

  /** The mean over the unmasked tokens, scaled to length 1. */
  #pool(state: string, mask: string): void {
    const graph = this.#graph;
    const kept = graph.node("Unsqueeze", [mask, graph.integers([2])]);
    const keepDims = { keepdims: { integer: 0 } };
    const sum = graph.node("ReduceSum", [graph.node("Mul", [state, kept]), graph.integers([1])], keepDims);
    const count = graph.node("ReduceSum", [kept, graph.integers([1])], keepDims);
    const mean = graph.node("Div", [sum, graph.node("Max", [count, this.#scalar(1e-9)])]);
    const length = graph.node("ReduceL2", [mean], { axes: { integers: [1] }, keepdims: { integer: 1 } });
    graph.node("Div", [mean, graph.node("Max", [length, this.#scalar(1e-12)])], {}, "embedding");
  }

  #scalar(value: number): string {
    return this.#graph.weights(Float32Array.of(value), [1]);
  }
}
