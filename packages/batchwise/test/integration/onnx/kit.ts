// Small graphs, written to files that are removed after the test, and tensors for them.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Tensor } from "batchwise/tensor";
import { onTestFinished } from "vitest";
import { buildEncoder, DEFAULT_ENCODER, type EncoderConfig } from "../../../../server/src/models/encoder-model.ts";
import { type Dimension, type ElementType, OnnxGraph } from "../../../../server/src/models/onnx-graph.ts";

/** The path of a file with these bytes, removed after the test. */
export function fileOf(bytes: Uint8Array | string): string {
  const folder = mkdtempSync(join(tmpdir(), "batchwise-onnx-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "model.onnx");
  writeFileSync(path, bytes);
  return path;
}

const SMALL = { layers: 2, hidden: 32, heads: 2, feedForward: 64, vocabulary: 1024, maxTokens: 256 };

/** A graph with inputs `input_ids` and `attention_mask` and output `embedding`. */
export const encoder = (config: Partial<EncoderConfig> = {}): Uint8Array =>
  buildEncoder({ ...DEFAULT_ENCODER, ...SMALL, ...config });

/** A graph whose output `y` is its input `x`. */
export function identity(type: ElementType, dims: readonly Dimension[] = ["batch", "length"]): Uint8Array {
  const graph = new OnnxGraph();
  graph.input("x", type, dims);
  graph.node("Identity", ["x"], {}, "y");
  graph.output("y", type, dims);
  return graph.finish("identity", "gives what it gets");
}

/** A graph with input `x` and two outputs: `once`, equal to `x`, and `twice`. */
export function twoOutputs(): Uint8Array {
  const graph = new OnnxGraph();
  graph.input("x", "float32", ["batch", "length"]);
  graph.node("Identity", ["x"], {}, "once");
  graph.node("Add", ["x", "x"], {}, "twice");
  for (const name of ["once", "twice"]) graph.output(name, "float32", ["batch", "length"]);
  return graph.finish("two", "gives two outputs");
}

/**
 * A graph from `x` [batch, width] to `y` that takes a few milliseconds per row, more with more
 * `products`.
 */
export function slow(products: number, width: number = 256): Uint8Array {
  const graph = new OnnxGraph();
  graph.input("x", "float32", ["batch", width]);
  const weights = graph.weights(new Float32Array(width * width).fill(1 / width), [width, width]);
  let state = "x";
  for (let product = 1; product < products; product += 1) state = graph.node("MatMul", [state, weights]);
  graph.node("MatMul", [state, weights], {}, "y");
  graph.output("y", "float32", ["batch", width]);
  return graph.finish("slow", "matrix products one after the other");
}

export interface Encoded {
  readonly input_ids: Tensor<"int64">;
  readonly attention_mask: Tensor<"int64">;
}

export interface Embedding {
  readonly embedding: Tensor<"float32">;
}

/** A text of this many tokens; another seed gives another text. */
export function encoded(length: number, seed: number = length): Encoded {
  const data = BigInt64Array.from({ length }, (_, place) => BigInt(3 + ((seed * 7919 + place * 104_729) % 1000)));
  const dims = [1, length];
  return {
    input_ids: { type: "int64", data, dims },
    attention_mask: { type: "int64", data: new BigInt64Array(length).fill(1n), dims },
  };
}

export const floats = (...values: number[]): { readonly x: Tensor<"float32"> } => ({
  x: { type: "float32", data: Float32Array.from(values), dims: [1, values.length] },
});

export function maxDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  return Array.from(a).reduce((largest, value, at) => Math.max(largest, Math.abs(value - (b[at] ?? Number.NaN))), 0);
}
