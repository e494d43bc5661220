import { describe, expect, test } from "vitest";
import { MAX_INPUTS, parseEmbeddingsRequest } from "../../../src/http/embeddings/embeddings-request.ts";
import { ApiError } from "../../../src/http/errors.ts";

const MODEL = { name: "demo", dimensions: 128, maxTokens: 512, vocabularySize: 100, builtIn: true };

const parse = (body: Record<string, unknown>): ReturnType<typeof parseEmbeddingsRequest> =>
  parseEmbeddingsRequest({ model: "demo", ...body }, MODEL);

function refusal(body: Record<string, unknown>): ApiError {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("The body was accepted");
}

describe("a request for embeddings", () => {
  test.each([
    ["one text", "a", ["a"]],
    ["texts", ["a", "b"], ["a", "b"]],
    ["tokens", [1, 2], [[1, 2]]],
    ["lists of tokens", [[1, 2], [3]], [[1, 2], [3]]],
    ["texts beside lists of tokens", ["a", [3]], ["a", [3]]],
    ["as many texts as OpenAI takes", Array(MAX_INPUTS).fill("a"), Array(MAX_INPUTS).fill("a")],
  ])("may ask for %s", (_, input, inputs) => {
    expect(parse({ input }).inputs).toEqual(inputs);
  });

  test("defaults to numbers and all dimensions, and takes null for unset", () => {
    expect(parse({ input: "a" })).toMatchObject({ encoding: "float", dimensions: null });
    expect(parse({ input: "a", encoding_format: null, dimensions: null, user: null })).toMatchObject({
      encoding: "float",
      dimensions: null,
    });
  });

  test("may ask for base64, fewer dimensions, and carry fields that we do not know", () => {
    const body = { input: "a", encoding_format: "base64", dimensions: 64, user: "u", truncate: "END" };
    expect(parse(body)).toMatchObject({ encoding: "base64", dimensions: 64 });
  });

  test.each([
    ["no input", {}, "input", "missing_required_parameter"],
    ["a null input", { input: null }, "input", "missing_required_parameter"],
    ["an empty array", { input: [] }, "input", "empty_array"],
    ["an empty text", { input: "" }, "input", "empty_string"],
    ["an empty text among others", { input: ["a", ""] }, "input", "empty_string"],
    ["an empty list of tokens", { input: [[1], []] }, "input", "empty_array"],
    ["too many texts", { input: Array(MAX_INPUTS + 1).fill("a") }, "input", "array_above_max_length"],
    ["an object", { input: { text: "a" } }, "input", "invalid_type"],
    ["an object among texts", { input: ["a", {}] }, "input", "invalid_type"],
    ["a text among tokens", { input: [1, "a"] }, "input", "invalid_type"],
    ["a text inside a list of tokens", { input: [[1, "a"]] }, "input", "invalid_type"],
    ["a token above the vocabulary", { input: [100] }, "input", "invalid_token"],
    ["a negative token", { input: [-1] }, "input", "invalid_token"],
    ["half a token", { input: [[0.5]] }, "input", "invalid_token"],
    ["another encoding", { input: "a", encoding_format: "hex" }, "encoding_format", "invalid_value"],
    ["more dimensions than there are", { input: "a", dimensions: 129 }, "dimensions", "invalid_value"],
    ["no dimensions", { input: "a", dimensions: 0 }, "dimensions", "invalid_value"],
    ["a user that is no string", { input: "a", user: 7 }, "user", "invalid_type"],
    ["no model", { input: "a", model: undefined }, "model", "missing_required_parameter"],
    ["a model that is no string", { input: "a", model: 7 }, "model", "invalid_type"],
  ])("is refused for %s, by field and not to be tried again", (_, body, param, code) => {
    const error = refusal(body);
    expect(error).toMatchObject({ status: 400, type: "invalid_request_error", param, code });
    expect(error.headers["x-should-retry"]).toBe("false");
  });

  test("for an unknown model is told which one there is", () => {
    expect(refusal({ input: "a", model: "gpt-9" })).toMatchObject({
      status: 404,
      param: "model",
      code: "model_not_found",
      message: "The model `gpt-9` does not exist; this server has `demo`.",
    });
  });

  test("is told which of its texts is wrong", () => {
    expect(refusal({ input: ["a", "b", ""] }).message).toContain("`input[2]`");
  });
});
