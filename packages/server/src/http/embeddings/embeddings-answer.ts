/**
 * The answer to `POST /v1/embeddings`, in OpenAI's form.
 *
 * Guarantees: the JSON is the same as when written in one piece. Only one piece of a large answer
 * is text at a time, because decimal numbers take five times the memory of the vectors, and at
 * least a tenth of a second to write.
 */

import { normalize, type Vector } from "batchwise/onnx";
import type { EmbeddingsRequest } from "./embeddings-request.ts";

export interface EmbeddingsAnswer {
  readonly model: string;
  /** Sum over all texts. */
  readonly tokens: number;
  readonly vectors: readonly Vector[];
  readonly encoding: EmbeddingsRequest["encoding"];
  /** Length to which each vector is cut; null for the whole vector. */
  readonly dimensions: number | null;
}

/** A smaller answer is one piece. */
const PIECE_LENGTH = 65_536;

/** The JSON, in pieces to concatenate. */
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

/** Base64 encodes the numbers as little-endian float32. */
function encode(vector: Vector, encoding: EmbeddingsRequest["encoding"]): number[] | string {
  if (encoding === "float") return Array.from(vector);
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64");
}
