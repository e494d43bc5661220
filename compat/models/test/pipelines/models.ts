// Folders with models as @huggingface/transformers loads them: one attention layer of random
// weights, with a tokenizer of 13 words. A token's output depends on all tokens of its text, and on
// padding unless the mask excludes it.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { env } from "@huggingface/transformers";
import { OnnxGraph } from "../../../../packages/server/src/models/onnx-graph.ts";
import { mulberry32, randomWeights } from "../../../../packages/server/src/models/seeded-weights.ts";
import { WORD_PIECES, wordPieceDefinition } from "../../../../packages/server/test/support/word-piece.ts";
import { afterEachFile } from "../../../../scripts/after-tests.ts";

export const WIDTH = 8;
const LABELS = ["contradiction", "neutral", "entailment"];

/**
 * The model's output: a vector per token, logits of the text or of each token, or start and end of
 * an answer.
 */
export type Output = "tokens" | "text-logits" | "token-logits" | "spans";

export interface ModelOptions {
  /**
   * Passes the vectors through a dynamically quantised product, whose scale depends on the whole
   * batch.
   */
  readonly quantised?: boolean;
  readonly paddingSide?: "left" | "right";
  /** A model that replaces the small one. */
  readonly graph?: Uint8Array;
  /** More files, or replacements. */
  readonly files?: Readonly<Record<string, unknown>>;
}

const made: string[] = [];

afterEachFile(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** Writes a model, makes the library look for models only there, and returns its name. */
export async function localModel(output: Output, options: ModelOptions = {}): Promise<string> {
  env.allowRemoteModels = false;
  env.localModelPath = await modelRoot(output, options);
  return "model";
}

/** A folder with one model, named "model". */
export async function modelRoot(output: Output, options: ModelOptions = {}): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "batchwise-pipelines-"));
  made.push(root);
  await writeModel(join(root, "model"), output, options);
  return root;
}

async function writeModel(folder: string, output: Output, options: ModelOptions): Promise<void> {
  const id2label = Object.fromEntries(LABELS.map((label, id) => [id, label]));
  const label2id = Object.fromEntries(LABELS.map((label, id) => [label, id]));
  const files: Record<string, unknown> = {
    "config.json": { model_type: "bert", id2label, label2id, pad_token_id: 0 },
    "tokenizer.json": wordPieceDefinition(),
    "tokenizer_config.json": {
      tokenizer_class: "BertTokenizer",
      model_max_length: 64,
      padding_side: options.paddingSide ?? "right",
      pad_token: "[PAD]",
      unk_token: "[UNK]",
      cls_token: "[CLS]",
      sep_token: "[SEP]",
    },
    "onnx/model.onnx": options.graph ?? attentionGraph(output, options.quantised === true),
    ...options.files,
  };
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content instanceof Uint8Array ? content : JSON.stringify(content));
  }
}

function attentionGraph(output: Output, isQuantised: boolean): Uint8Array {
  const graph = new OnnxGraph();
  const random = mulberry32(11);
  const weights = (...dims: number[]): string =>
    graph.weights(
      randomWeights(
        random,
        dims.reduce((product, dim) => product * dim, 1),
        1,
      ),
      dims,
    );
  const ids = graph.input("input_ids", "int64", ["batch", "sequence"]);
  const mask = graph.input("attention_mask", "int64", ["batch", "sequence"]);
  const words = graph.node("Gather", [weights(WORD_PIECES.length, WIDTH), ids]);
  let state = graph.node("Add", [words, attention(graph, words, mask)]);
  if (isQuantised) state = quantised(graph, state, random);
  if (output === "tokens") {
    result(graph, state, "last_hidden_state", ["batch", "sequence", WIDTH]);
  } else if (output === "token-logits") {
    const logits = graph.node("MatMul", [state, weights(WIDTH, LABELS.length)]);
    result(graph, logits, "logits", ["batch", "sequence", LABELS.length]);
  } else if (output === "text-logits") {
    // The token [CLS] stands for the text. It is the first, because padding is on the right.
    const ends = [graph.integers([0]), graph.integers([1]), graph.integers([1])];
    const first = graph.node("Squeeze", [graph.node("Slice", [state, ...ends]), graph.integers([1])]);
    const logits = graph.node("MatMul", [first, weights(WIDTH, LABELS.length)]);
    result(graph, logits, "logits", ["batch", LABELS.length]);
  } else {
    for (const name of ["start_logits", "end_logits"]) {
      const score = graph.node("MatMul", [state, weights(WIDTH, 1)]);
      result(graph, graph.node("Squeeze", [score, graph.integers([2])]), name, ["batch", "sequence"]);
    }
  }
  return graph.finish("attention", "One attention layer, for tests");
}

function result(graph: OnnxGraph, value: string, name: string, dims: readonly (number | string)[]): void {
  graph.node("Identity", [value], {}, name);
  graph.output(name, "float32", dims);
}

/** Softmax(words x words' + 0 or a large negative number) x words. */
function attention(graph: OnnxGraph, words: string, mask: string): string {
  const turned = graph.node("Transpose", [words], { perm: { integers: [0, 2, 1] } });
  const kept = graph.node("Unsqueeze", [graph.node("Cast", [mask], { to: { integer: 1 } }), graph.integers([1])]);
  const absent = graph.node("Sub", [graph.weights(Float32Array.of(1), [1]), kept]);
  const blocked = graph.node("Mul", [absent, graph.weights(Float32Array.of(-10_000), [1])]);
  const scores = graph.node("Add", [graph.node("MatMul", [words, turned]), blocked]);
  return graph.node("MatMul", [graph.node("Softmax", [scores], { axis: { integer: 2 } }), words]);
}

/** The operations of a dynamic-int8 export for each of its products. */
function quantised(graph: OnnxGraph, state: string, random: () => number): string {
  const weights = Uint8Array.from({ length: WIDTH * WIDTH }, () => Math.floor(random() * 256));
  const [bytes, scale, zero] = graph.nodeOfThree("DynamicQuantizeLinear", [state]);
  const weightZero = graph.bytes(Uint8Array.of(128), []);
  const product = graph.node("MatMulInteger", [bytes, graph.bytes(weights, [WIDTH, WIDTH]), zero, weightZero]);
  return graph.node("Mul", [graph.node("Cast", [product], { to: { integer: 1 } }), scale]);
}
