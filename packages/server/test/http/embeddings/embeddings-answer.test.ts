// The body of an answer with many vectors.

import { describe, expect, test } from "vitest";
import { type EmbeddingsAnswer, writeEmbeddings } from "../../../src/http/embeddings/embeddings-answer.ts";

function vectorsOf(count: number, width: number): Float32Array<ArrayBuffer>[] {
  return Array.from({ length: count }, (_, row) =>
    Float32Array.from({ length: width }, (_, place) => Math.sin(row + place)),
  );
}

function whole(answer: EmbeddingsAnswer): string {
  return [...writeEmbeddings(answer)].join("");
}

describe("the body of an answer", () => {
  test("is in OpenAI's shape, vectors in order", () => {
    const vectors = vectorsOf(3, 2);
    const body = whole({ model: 'a "model"', tokens: 7, vectors, encoding: "float", dimensions: null });
    expect(JSON.parse(body)).toEqual({
      object: "list",
      data: vectors.map((vector, index) => ({ object: "embedding", index, embedding: Array.from(vector) })),
      model: 'a "model"',
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
  });

  test("of no vectors is a list without entries", () => {
    const body = whole({ model: "m", tokens: 0, vectors: [], encoding: "base64", dimensions: null });
    expect(JSON.parse(body)).toMatchObject({ data: [] });
  });

  test("of thousands of vectors comes in pieces of some tens of kilobytes, which are the same JSON", () => {
    const vectors = vectorsOf(2_048, 256);
    const pieces = [...writeEmbeddings({ model: "m", tokens: 1, vectors, encoding: "float", dimensions: null })];
    const lengths = pieces.map(({ length }) => length);
    expect(Math.max(...lengths)).toBeLessThan(100_000);
    expect(lengths.length).toBeGreaterThan(50);
    const { data } = JSON.parse(pieces.join("")) as { readonly data: readonly { readonly embedding: number[] }[] };
    expect(data.map(({ embedding }) => embedding)).toEqual(vectors.map((vector) => Array.from(vector)));
  });
});
