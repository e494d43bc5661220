/**
 * From what a model gives to one vector a text.
 *
 * Guarantees: every vector has length 1 (or 0 for a text without tokens); padding has no part in the mean; a row
 * with a number that is not finite is named.
 * Does not know other ways of pooling: a model trained for the first token's vector needs an export with its own
 * `sentence_embedding` output.
 */

import type { TokenBatch, VectorBlock } from "./token-batch.ts";

/** A tensor as the runtime gives it. */
export interface OutputTensor {
  readonly type: string;
  readonly data: unknown;
  readonly dims: readonly number[];
}

/** Outputs that we can read, best first: pooled by the model itself, then one vector a token. */
const KNOWN_OUTPUTS = ["sentence_embedding", "embedding", "embeddings", "last_hidden_state", "token_embeddings"];

/** Which of the model's outputs to read. */
export function chooseOutput(names: readonly string[]): string {
  const known = KNOWN_OUTPUTS.find((name) => names.includes(name));
  if (known !== undefined) return known;
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return only;
  throw new Error(`The model gives ${names.join(", ")}; expected one of ${KNOWN_OUTPUTS.join(", ")}`);
}

/** Reads [rows, width] as it is and pools [rows, tokens, width] by the mean over the mask; both come out at length 1. */
export function vectorsFrom(output: OutputTensor, batch: TokenBatch): VectorBlock {
  const { data, dims, type } = output;
  if (!(data instanceof Float32Array)) throw new Error(`The model gives ${type} numbers; expected float32`);
  const [rows, second, third] = dims;
  if (rows !== batch.rows) throw new Error(`The model gives ${rows} rows for ${batch.rows} texts`);
  if (dims.length === 2 && second !== undefined) {
    return normalizeRows(rows, second, new Float32Array(data));
  }
  if (dims.length === 3 && second === batch.columns && third !== undefined) {
    return normalizeRows(rows, third, meanOverTokens(data, batch, third));
  }
  throw new Error(
    `The model gives an output of shape [${dims.join(", ")}]; expected [texts, width] or [texts, tokens, width]`,
  );
}

function meanOverTokens(data: Float32Array, batch: TokenBatch, width: number): Float32Array<ArrayBuffer> {
  const pooled = new Float32Array(batch.rows * width);
  for (let row = 0; row < batch.rows; row += 1) {
    for (let column = 0; column < batch.columns; column += 1) {
      const token = row * batch.columns + column;
      if (batch.mask[token] === 0n) continue;
      for (let index = 0; index < width; index += 1) {
        const place = row * width + index;
        pooled[place] = (pooled[place] ?? 0) + (data[token * width + index] ?? 0);
      }
    }
  }
  // The sum will do for the mean: both have the same direction, and the length becomes 1.
  return pooled;
}

function normalizeRows(rows: number, width: number, data: Float32Array<ArrayBuffer>): VectorBlock {
  const notFinite: number[] = [];
  for (let row = 0; row < rows; row += 1) {
    if (!normalize(data.subarray(row * width, (row + 1) * width))) notFinite.push(row);
  }
  return { rows, width, data, notFinite };
}

/** Scales a vector to length 1 in place; a zero vector stays. False, and nothing changed, when a number is not finite. */
export function normalize(vector: Float32Array): boolean {
  let squares = 0;
  for (const value of vector) squares += value * value;
  // The squares of float32 numbers do not overflow here.
  if (!Number.isFinite(squares)) return false;
  if (squares === 0) return true;
  const scale = 1 / Math.sqrt(squares);
  for (let index = 0; index < vector.length; index += 1) vector[index] = (vector[index] ?? 0) * scale;
  return true;
}
