import { describe, expect, test } from "vitest";
import type { Json } from "../../../../src/dispatch/contract/types.ts";
import { toEmbeddingRequest, toModerationRequest } from "../../../../src/dispatch/providers/mistral/inputs.ts";

describe("embeddings and moderations as Mistral takes them", () => {
  test("dimensions and their type have Mistral's names", () => {
    const body = { model: "m", input: ["a", "b"], dimensions: 256, encoding_format: "float", user: "u" };
    expect(toEmbeddingRequest({ ...body, output_dtype: "int8" })).toEqual({
      model: "m",
      input: ["a", "b"],
      output_dimension: 256,
      output_dtype: "int8",
      encoding_format: "float",
    });
  });

  test("texts to moderate may be written as parts", () => {
    const input = [{ type: "text", text: "a" }, "b"];
    expect(toModerationRequest({ model: "m", input })).toEqual({ model: "m", input: ["a", "b"] });
  });

  test.each<[string, Json, string]>([
    ["no text", "", "`input` must be a text or a non-empty array"],
    ["nothing", [], "`input` must be a text or a non-empty array"],
    ["tokens", [1, 2], "`input[0]` other than a text"],
    ["lists of tokens", [[1, 2]], "`input[0]` other than a text"],
    [
      "an image",
      [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }],
      "`input[0]` other than a text",
    ],
  ])("%s is refused in words", (_case, input, words) => {
    expect(() => toEmbeddingRequest({ model: "m", input })).toThrow(words);
    expect(() => toModerationRequest({ model: "m", input })).toThrow(words);
  });
});
