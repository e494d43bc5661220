// The body of an answer with many vectors.

import { describe, expect, test } from "vitest";
import { writeEmbeddings } from "../../src/http/embeddings-answer.ts";

function vectorsOf(count: number, width: number): Float32Array<ArrayBuffer>[] {
  return Array.from({ length: count }, (_, row) =>
    Float32Array.from({ length: width }, (_, place) => Math.sin(row + place)),
  );
}

describe("the body of an answer", () => {
  test("is in OpenAI's shape, vectors in order", async () => {
    const vectors = vectorsOf(3, 2);
    const body = await writeEmbeddings({ model: 'a "model"', tokens: 7, vectors, encoding: "float", dimensions: null });
    expect(JSON.parse(body)).toEqual({
      object: "list",
      data: vectors.map((vector, index) => ({ object: "embedding", index, embedding: Array.from(vector) })),
      model: 'a "model"',
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
  });

  test("of no vectors is a list without entries", async () => {
    const body = await writeEmbeddings({ model: "m", tokens: 0, vectors: [], encoding: "base64", dimensions: null });
    expect(JSON.parse(body)).toMatchObject({ data: [] });
  });

  test("lets other work in while thousands of vectors are written", async () => {
    let turns = 0;
    let written = false;
    const count = (): void => {
      turns += 1;
      if (!written) setImmediate(count);
    };
    setImmediate(count);
    await writeEmbeddings({
      model: "m",
      tokens: 1,
      vectors: vectorsOf(2_048, 1_024),
      encoding: "float",
      dimensions: null,
    });
    written = true;
    expect(turns).toBeGreaterThan(5);
  });
});
