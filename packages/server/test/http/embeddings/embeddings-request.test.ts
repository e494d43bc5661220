import type { SpecialTokens } from "batchwise/onnx";
import { describe, expect, test } from "vitest";
import {
  type EmbeddingsRequest,
  MAX_INPUTS,
  parseEmbeddingsRequest,
} from "../../../src/http/embeddings/embeddings-request.ts";
import { ApiError } from "../../../src/http/errors.ts";

const UNMARKED = { before: [], after: [] };
const MODEL = { name: "demo", dimensions: 128, maxTokens: 512, vocabularySize: 100, builtIn: true };

const parse = (body: Record<string, unknown>, specialTokens: SpecialTokens = UNMARKED): EmbeddingsRequest =>
  parseEmbeddingsRequest({ model: "demo", ...body }, { ...MODEL, specialTokens });

function refusal(body: Record<string, unknown>, specialTokens?: SpecialTokens): ApiError {
  try {
    parse(body, specialTokens);
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
  ])("may request %s", (_, input, inputs) => {
    expect(parse({ input }).inputs).toEqual(inputs);
  });

  test("defaults to numbers and all dimensions, and takes null for unset", () => {
    expect(parse({ input: "a" })).toMatchObject({ encoding: "float", dimensions: null });
    expect(parse({ input: "a", encoding_format: null, dimensions: null, user: null })).toMatchObject({
      encoding: "float",
      dimensions: null,
    });
  });

  test("may request base64, fewer dimensions, and carry fields that we do not know", () => {
    const body = { input: "a", encoding_format: "base64", dimensions: 64, user: "u" };
    const others = { truncate: "END", input_type: "query", prompt_name: "query", normalize: true, extra_body: {} };
    expect(parse({ ...body, ...others })).toEqual(parse(body));
    expect(parse(body)).toMatchObject({ encoding: "base64", dimensions: 64 });
  });

  test.each([
    ["the plural of input", { input: "a", inputs: ["b"] }, "inputs", "unknown_parameter"],
    ["another name of input alone", { texts: ["b"] }, "texts", "unknown_parameter"],
    ["the singular of dimensions", { input: "a", dimension: 64 }, "dimension", "unknown_parameter"],
    [
      "another case of encoding_format",
      { input: "a", encodingFormat: "base64" },
      "encodingFormat",
      "unknown_parameter",
    ],
    ["a header among the fields", { input: "a", priority: 3 }, "priority", "unknown_parameter"],
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

  test("for an unknown model gets the name of the model", () => {
    expect(refusal({ input: "a", model: "gpt-9" })).toMatchObject({
      status: 404,
      param: "model",
      code: "model_not_found",
      message: "The model `gpt-9` does not exist; this server has `demo`.",
    });
  });

  test("gets the place of its wrong text", () => {
    expect(refusal({ input: ["a", "b", ""] }).message).toContain("`input[2]`");
  });
});

describe("token ids for a model whose tokenizer puts special tokens around a text", () => {
  const around = { before: [1], after: [2] };
  const both = "to begin with 1 and end with 2, the special tokens of this model, but it";

  test("may be sent with them", () => {
    const input = [
      [1, 7, 2],
      [1, 2],
    ];
    expect(parse({ input }, around).inputs).toEqual(input);
    expect(parse({ input: ["a", [1, 7, 2]] }, around).inputs).toEqual(["a", [1, 7, 2]]);
    expect(parse({ input: [7, 2] }, { before: [], after: [2] }).inputs).toEqual([[7, 2]]);
  });

  test.each([
    ["neither", [7, 8], around, `\`input\` ${both} begins with 7 and ends with 8`],
    ["no first one", [7, 2], around, `\`input\` ${both} begins with 7 and ends with 2`],
    [
      "no last one",
      [
        [1, 7, 2],
        [1, 7],
      ],
      around,
      `\`input[1]\` ${both} begins with 1 and ends with 7`,
    ],
    ["one token for both", [1], { before: [1], after: [1] }, "begins with 1 and ends with 1"],
    ["one of two in front", [3, 7, 2], { before: [3, 4], after: [] }, "begin with 3, 4, the special"],
    ["one at the end only", ["a", [7, 8]], { before: [], after: [2] }, "`input[1]` to end with 2, the special"],
  ])("are refused with %s, by place, with the way out", (_, input, specialTokens, message) => {
    const error = refusal({ input }, specialTokens);
    expect(error).toMatchObject({ status: 400, param: "input", code: "invalid_token" });
    expect(error.message).toContain(message);
    expect(error.message).toContain("check_embedding_ctx_length=False. Or send ids of this model's own tokenizer");
    expect(error.headers["x-should-retry"]).toBe("false");
  });

  test("get the way out past the vocabulary, too", () => {
    expect(refusal({ input: [1, 100_257, 2] }, around).message).toContain(
      "from 0 to 99, got 100257. Please send texts",
    );
  });
});
