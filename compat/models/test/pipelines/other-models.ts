// Models for other tasks: one that reads the mean colour of an image, and one that continues a text
// by its last word.

import { OnnxGraph } from "../../../../packages/server/src/models/onnx-graph.ts";
import { WORD_PIECES } from "../../../../packages/server/test/support/word-piece.ts";

/** Logits by the mean of red, green and blue. */
export function colourGraph(): Uint8Array {
  const graph = new OnnxGraph();
  const pixels = graph.input("pixel_values", "float32", ["batch", 3, "height", "width"]);
  graph.node("ReduceMean", [pixels], { axes: { integers: [2, 3] }, keepdims: { integer: 0 } }, "logits");
  graph.output("logits", "float32", ["batch", 3]);
  return graph.finish("colour", "The mean of each colour, for tests");
}

/** After each word the next in the list. */
export function nextWordGraph(): Uint8Array {
  const graph = new OnnxGraph();
  const size = WORD_PIECES.length;
  const table = new Float32Array(size * size);
  for (let id = 0; id < size; id += 1) table[id * size + ((id + 1) % size)] = 10;
  const ids = graph.input("input_ids", "int64", ["batch", "sequence"]);
  graph.input("attention_mask", "int64", ["batch", "sequence"]);
  graph.node("Gather", [graph.weights(table, [size, size]), ids], {}, "logits");
  graph.output("logits", "float32", ["batch", "sequence", size]);
  return graph.finish("next-word", "After each word the next in the list, for tests");
}
