/**
 * The answer to `POST /v1/embeddings`, in OpenAI's shape.
 *
 * Guarantees: the same JSON as in one piece; of a large answer, no more is text at a time than a
 * piece of it, because as decimal numbers it is five times as large as its vectors and takes a
 * tenth of a second and more to write.
 */

import { normalize, type Vector } from "batchwise/onnx";
import type { EmbeddingsRequest } from "./embeddings-request.ts";

export interface EmbeddingsAnswer {
  readonly model: string;
  /** Of all texts together. */
  readonly tokens: number;
  readonly vectors: readonly Vector[];
  readonly encoding: EmbeddingsRequest["encoding"];
  /** How many numbers of each vector the caller wants; null for all. */
  readonly dimensions: number | null;
}

/** An answer that is smaller is one piece. */
const PIECE_LENGTH = 65_536;

/** The JSON, in pieces to be put one behind the other. */
export function* writeEmbeddings(answer: EmbeddingsAnswer): Generator<string, void> {
  const { model, tokens, vectors, encoding, dimensions } = answer;
  let piece = '{"object":"list","data":[';
  for (const [index, vector] of vectors.entries()) {
    const embedding = encode(shorten(vector, dimensions), encoding);
    piece += (index === 0 ? "" : ",") + JSON.stringify({ object: "embedding", index, embedding });
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = "";
  }
  const usage = JSON.stringify({ prompt_tokens: tokens, total_tokens: tokens });
  yield `${piece}],"model":${JSON.stringify(model)},"usage":${usage}}`;
}

/** The first numbers of a vector, scaled to length 1 again. */
function shorten(vector: Vector, dimensions: number | null): Vector {
  if (dimensions === null || dimensions >= vector.length) return vector;
  const head = vector.slice(0, dimensions);
  normalize(head);
  return head;
}

/** Base64 holds the numbers as little-endian float32. */
function encode(vector: Vector, encoding: EmbeddingsRequest["encoding"]): number[] | string {
  if (encoding === "float") return Array.from(vector);
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64");
}
