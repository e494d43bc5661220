// Answers to embeddings without a vector.

import { expect, test } from "vitest";
import { embeddingAnswer } from "../../../../../src/dispatch/providers/shapes/gemini/embedding.ts";

test.each([{}, { embedding: null }, { embedding: {} }, { embedding: { values: [] } }, { embedding: { values: "AA" } }])(
  "%j is an error that may pass, and no empty vector",
  (response) => {
    const { response: answer, error } = embeddingAnswer(response, "m");
    expect([answer?.statusCode, error?.code]).toEqual([500, "no_embedding"]);
  },
);
