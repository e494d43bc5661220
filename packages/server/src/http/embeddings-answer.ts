/**
 * The answer to `POST /v1/embeddings`, in OpenAI's shape.
 *
 * Guarantees: the same JSON as in one piece; gives way to other requests every few milliseconds, because thousands of
 * vectors as decimal numbers take a tenth of a second and more.
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

/** How long other requests may be kept from the event loop. */
const YIELD_AFTER_MS = 4;

export async function writeEmbeddings(answer: EmbeddingsAnswer): Promise<string> {
  const { model, tokens, vectors, encoding, dimensions } = answer;
  const entries: string[] = [];
  let sliceStart = performance.now();
  for (const [index, vector] of vectors.entries()) {
    const embedding = encode(shorten(vector, dimensions), encoding);
    entries.push(JSON.stringify({ object: "embedding", index, embedding }));
    if (performance.now() - sliceStart >= YIELD_AFTER_MS) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      sliceStart = performance.now();
    }
  }
  const usage = JSON.stringify({ prompt_tokens: tokens, total_tokens: tokens });
  return `{"object":"list","data":[${entries.join(",")}],"model":${JSON.stringify(model)},"usage":${usage}}`;
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
