/**
 * Folders in the layout of exports of trained models, with small graphs whose numbers a test can
 * compute.
 */

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { OnnxGraph } from "../../src/models/onnx-graph.ts";
import { mulberry32, randomWeights } from "../../src/models/seeded-weights.ts";
import { temporaryFolder } from "./folders.ts";
import { WORD_PIECES, wordPieceDefinition } from "./word-piece.ts";

export interface TableOptions {
  /** Rows of the table of words; a larger token id fails the run. */
  readonly vocabulary?: number;
  readonly width?: number;
  /** The vectors of single tokens, instead of random ones. */
  readonly words?: Readonly<Record<number, readonly number[]>>;
  /**
   * `tokens`: the words' vectors; `mean`: their mean without a mask; `logits`: a classifier's, with
   * 3 labels unless `width` is set.
   */
  readonly output?: "tokens" | "mean" | "logits";
  readonly outputName?: string;
  /**
   * Passes the words through one dynamically quantised product, whose scale depends on the whole
   * batch.
   */
  readonly quantised?: boolean;
  /** Adds positions as RoBERTa counts them, from padding + 1, with a table of this many. */
  readonly positions?: number;
}

const FLOAT = { to: { integer: 1 } };
const RANDOM_WIDTH = 8;
export const PADDING = 1;

/** A graph that looks each token up in a table. */
export function tableGraph(options: TableOptions = {}): Uint8Array {
  const { vocabulary = WORD_PIECES.length, width = RANDOM_WIDTH, output = "tokens" } = options;
  const graph = new OnnxGraph();
  const ids = graph.input("input_ids", "int64", ["batch", "sequence"]);
  graph.input("attention_mask", "int64", ["batch", "sequence"]);
  const table = tableOf(vocabulary, width, options.words ?? {});
  let state = graph.node("Gather", [graph.weights(table, [vocabulary, width]), ids]);
  if (options.positions !== undefined) state = addPositions(graph, state, ids, options.positions, width);
  if (options.quantised === true) state = quantised(graph, state, width);
  const name =
    options.outputName ?? { tokens: "last_hidden_state", mean: "sentence_embedding", logits: "logits" }[output];
  if (output === "tokens") {
    graph.node("Identity", [state], {}, name);
    graph.output(name, "float32", ["batch", "sequence", width]);
  } else {
    graph.node("ReduceMean", [state], { axes: { integers: [1] }, keepdims: { integer: 0 } }, name);
    graph.output(name, "float32", ["batch", width]);
  }
  return graph.finish("table", "One vector a token, for tests");
}

function tableOf(vocabulary: number, width: number, words: Readonly<Record<number, readonly number[]>>): Float32Array {
  const table = randomWeights(mulberry32(7), vocabulary * width, 1);
  for (const [id, vector] of Object.entries(words)) table.set(vector, Number(id) * width);
  return table;
}

/** Sums id != padding along the row, and adds padding; 0 becomes padding itself. */
function addPositions(graph: OnnxGraph, state: string, ids: string, count: number, width: number): string {
  const isPadding = graph.node("Equal", [ids, graph.integers([PADDING])]);
  const kept = graph.node("Cast", [graph.node("Not", [isPadding])], { to: { integer: 7 } });
  const counted = graph.node("Mul", [graph.node("CumSum", [kept, graph.integers([1])]), kept]);
  const positions = graph.node("Add", [counted, graph.integers([PADDING])]);
  const table = graph.weights(randomWeights(mulberry32(8), count * width, 1), [count, width]);
  return graph.node("Add", [state, graph.node("Gather", [table, positions])]);
}

/** The operations of a dynamic-int8 export for each of its products. */
function quantised(graph: OnnxGraph, state: string, width: number): string {
  const random = mulberry32(9);
  const weights = Uint8Array.from({ length: width * width }, () => Math.floor(random() * 256));
  const [bytes, scale, zero] = graph.nodeOfThree("DynamicQuantizeLinear", [state]);
  const weightZero = graph.bytes(Uint8Array.of(128), []);
  const product = graph.node("MatMulInteger", [bytes, graph.bytes(weights, [width, width]), zero, weightZero]);
  return graph.node("Mul", [graph.node("Cast", [product], FLOAT), scale]);
}

/** Writes the files, JSON or bytes, with a tokenizer of 13 words, into a folder named `export`. */
export async function exportFolder(
  graph: Uint8Array,
  files: Readonly<Record<string, Uint8Array | Record<string, unknown> | readonly unknown[]>> = {},
): Promise<string> {
  const folder = join(await temporaryFolder(), "export");
  const all = { "model.onnx": graph, "tokenizer.json": wordPieceDefinition(), ...files };
  for (const [name, content] of Object.entries(all)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content instanceof Uint8Array ? content : JSON.stringify(content));
  }
  return folder;
}
