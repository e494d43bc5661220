/**
 * Makes one vector per text from a model's output: pools over tokens, then applies the steps that
 * the model's files name.
 *
 * Guarantees: every vector has length 1, except in the listed rows: rows with a number that is not
 * finite, and rows of zeros. Padding has no effect. A model that needs an unsupported step is
 * refused.
 */

import { countOf } from "../../core/contract/errors.ts";
import type { Activation, DenseStep, Pooling, Readout, ReadoutStep } from "./readout.ts";
import type { TokenBatch, VectorBlock } from "./token-batch.ts";

/** A tensor as the runtime returns it. */
export interface OutputTensor {
  readonly type: string;
  readonly data: unknown;
  readonly dims: readonly number[];
}

/** Vectors of texts, row by row. */
interface Rows {
  readonly width: number;
  readonly data: Float32Array<ArrayBuffer>;
}

/** Vectors of tokens. */
interface Tokens {
  readonly batch: TokenBatch;
  readonly width: number;
  readonly data: Float32Array;
}

/** Advice for a model that returns no vectors of texts. */
export const ANOTHER_EXPORT =
  "Export its encoder instead (optimum-cli export onnx --task feature-extraction), or serve another model";

const POOLED_OUTPUTS = ["sentence_embedding", "embedding", "embeddings"];
const TOKEN_OUTPUTS = ["last_hidden_state", "token_embeddings"];

/**
 * Chooses the output to read: a pooled output before an output with a vector per token, unless the
 * option `pooling` is given.
 */
export function chooseOutput(names: readonly string[], { source }: Pick<Readout, "source">): string {
  const wanted = source === "option" ? TOKEN_OUTPUTS : [...POOLED_OUTPUTS, ...TOKEN_OUTPUTS];
  const known = wanted.find((name) => names.includes(name));
  if (known !== undefined) return known;
  const [only, ...others] = names;
  if (names.includes("logits")) {
    throw new Error(`The model gives \`logits\`: the scores of a classifier and no embedding. ${ANOTHER_EXPORT}`);
  }
  if (only !== undefined && others.length === 0) return only;
  throw new Error(`The model gives ${names.join(", ")}; expected one of ${wanted.join(", ")}`);
}

/** Takes [rows, width] as it is and pools [rows, tokens, width]; scales both to length 1. */
export function vectorsFrom(output: OutputTensor, batch: TokenBatch, readout: Readout): VectorBlock {
  const { data, dims, type } = output;
  if (!(data instanceof Float32Array)) throw new Error(`The model gives ${type} numbers; expected float32`);
  const [rows, second, third] = dims;
  if (rows !== batch.rows)
    throw new Error(`The model gives ${countOf(rows ?? 0, "row")} for ${countOf(batch.rows, "text")}`);
  if (dims.length === 2 && second !== undefined) {
    checkPooled(second, readout);
    return { ...normalizeRows(rows, { width: second, data: new Float32Array(data) }), pooledBy: "graph" };
  }
  if (dims.length === 3 && second === batch.columns && third !== undefined) {
    checkTokens(third, readout);
    const pooled = poolTokens({ batch, width: third, data }, readout.poolings);
    const vectors = readout.steps.reduce((state, step) => take(state, rows, step), pooled);
    return { ...normalizeRows(rows, vectors), pooledBy: "readout" };
  }
  throw new Error(
    `The model gives an output of shape [${dims.join(", ")}]; expected [texts, width] or [texts, tokens, width]`,
  );
}

/** A graph that pools is expected to do everything that the files name. */
function checkPooled(width: number, { source, steps }: Readout): void {
  if (source === "option") {
    throw new Error("A way of pooling was named, but the model gives pooled vectors only; leave `pooling` out");
  }
  const last = steps.findLast((step) => step.kind === "dense");
  if (last === undefined || last.outputs === width) return;
  throw new Error(
    `The model gives vectors of ${width} numbers, but its files end in ${last.name} with ${last.outputs}; export it with all its modules, or with last_hidden_state`,
  );
}

function checkTokens(width: number, { problem, tokenWidth }: Readout): void {
  if (problem !== undefined) throw new Error(`${problem}. Or export the model with a sentence_embedding output`);
  if (tokenWidth === undefined || tokenWidth === width) return;
  throw new Error(`The model gives ${width} numbers a token, but its pooling config says ${tokenWidth}`);
}

function poolTokens(tokens: Tokens, poolings: readonly Pooling[]): Rows {
  const { batch } = tokens;
  const width = tokens.width * poolings.length;
  const data = new Float32Array(batch.rows * width);
  for (let row = 0; row < batch.rows; row += 1) {
    const length = lengthOf(batch, row);
    for (const [index, pooling] of poolings.entries()) {
      const start = row * width + index * tokens.width;
      poolRow(tokens, row, length, pooling, data.subarray(start, start + tokens.width));
    }
  }
  return { width, data };
}

/** In a row the tokens come first, then the padding. */
function lengthOf({ mask, columns }: TokenBatch, row: number): number {
  let length = 0;
  while (length < columns && mask[row * columns + length] !== 0n) length += 1;
  return length;
}

function poolRow(tokens: Tokens, row: number, length: number, pooling: Pooling, into: Float32Array): void {
  const { width, data, batch } = tokens;
  const token = (column: number): Float32Array => {
    const start = (row * batch.columns + column) * width;
    return data.subarray(start, start + width);
  };
  if (length === 0) return;
  if (pooling === "cls") into.set(token(0));
  else if (pooling === "last-token") into.set(token(length - 1));
  else if (pooling === "max")
    largest(
      Array.from({ length }, (_, column) => token(column)),
      into,
    );
  else average(length, token, pooling, into);
}

function largest(vectors: readonly Float32Array[], into: Float32Array): void {
  into.fill(Number.NEGATIVE_INFINITY);
  for (const vector of vectors) {
    for (const [index, value] of vector.entries()) into[index] = Math.max(into[index] ?? 0, value);
  }
}

function average(length: number, token: (column: number) => Float32Array, pooling: Pooling, into: Float32Array): void {
  const width = into.length;
  for (let column = 0; column < length; column += 1) {
    const vector = token(column);
    const weight = pooling === "weighted-mean" ? column + 1 : 1;
    for (let index = 0; index < width; index += 1) into[index] = (into[index] ?? 0) + weight * (vector[index] ?? 0);
  }
  const divisor = divisorOf(pooling, length);
  for (let index = 0; index < width; index += 1) into[index] = (into[index] ?? 0) / divisor;
}

function divisorOf(pooling: Pooling, length: number): number {
  if (pooling === "mean-sqrt-len") return Math.sqrt(length);
  return pooling === "weighted-mean" ? (length * (length + 1)) / 2 : length;
}

function take(state: Rows, rows: number, step: ReadoutStep): Rows {
  return step.kind === "normalize" ? normalizeRows(rows, state) : dense(state, rows, step);
}

const ACTIVATE: Readonly<Record<Activation, (value: number) => number>> = {
  identity: (value) => value,
  tanh: Math.tanh,
  relu: (value) => Math.max(0, value),
  sigmoid: (value) => 1 / (1 + Math.exp(-value)),
};

function dense(state: Rows, rows: number, step: DenseStep): Rows {
  const { inputs, outputs, weights, bias, name } = step;
  if (state.width !== inputs) throw new Error(`${name} takes ${countOf(inputs, "number")}, but gets ${state.width}`);
  const activate = ACTIVATE[step.activation];
  const data = new Float32Array(rows * outputs);
  for (let row = 0; row < rows; row += 1) {
    for (let output = 0; output < outputs; output += 1) {
      let sum = bias?.[output] ?? 0;
      for (let input = 0; input < inputs; input += 1) {
        sum += (weights[output * inputs + input] ?? 0) * (state.data[row * inputs + input] ?? 0);
      }
      data[row * outputs + output] = activate(sum);
    }
  }
  return { width: outputs, data };
}

function normalizeRows(rows: number, { width, data }: Rows): Omit<VectorBlock, "pooledBy"> {
  const notFinite: number[] = [];
  const zeros: number[] = [];
  for (let row = 0; row < rows; row += 1) {
    const vector = data.subarray(row * width, (row + 1) * width);
    if (vector.every((value) => value === 0)) zeros.push(row);
    else if (!normalize(vector)) notFinite.push(row);
  }
  return { rows, width, data, notFinite, zeros };
}

/**
 * Scales a vector to length 1 in place; a zero vector does not change. Returns false and changes
 * nothing if a number is not finite.
 *
 * @example
 * ```ts
 * import { normalize } from "batchwise/onnx";
 * const vector = new Float32Array([3, 4]);
 * normalize(vector); // true; the vector is [0.6, 0.8]
 * ```
 */
export function normalize(vector: Float32Array): boolean {
  let squares = 0;
  for (const value of vector) squares += value * value;
  // Squares of float32 numbers do not overflow in double precision.
  if (!Number.isFinite(squares)) return false;
  if (squares === 0) return true;
  const scale = 1 / Math.sqrt(squares);
  for (let index = 0; index < vector.length; index += 1) vector[index] = (vector[index] ?? 0) * scale;
  return true;
}
