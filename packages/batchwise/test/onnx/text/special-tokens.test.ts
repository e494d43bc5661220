import { describe, expect, test } from "vitest";
import { hashingTokenizer } from "../../../../server/src/models/hashing-tokenizer.ts";
import { checkSpecialTokens, specialTokensOf } from "../../../src/onnx/text/special-tokens.ts";
import { truncateTokens } from "../../../src/onnx/text/tokenizer.ts";

const encoder = (encode: (text: string) => readonly number[]): { encode(text: string): readonly number[] } => ({
  encode,
});
const letters = (text: string): number[] => [...text].map((letter) => letter.codePointAt(0) ?? 0);
const words = (text: string): number[] => text.split(" ").map(() => 3);

describe("the special tokens of a tokenizer", () => {
  test.each([
    ["both ends", (text: string) => [1, ...letters(text), 2], { before: [1], after: [2] }],
    ["the end only", (text: string) => [...letters(text), 2], { before: [], after: [2] }],
    ["two and three", (text: string) => [5, 6, ...letters(text), 7, 8, 9], { before: [5, 6], after: [7, 8, 9] }],
    ["the same one twice", (text: string) => [1, ...letters(text), 1], { before: [1], after: [1] }],
    ["no end", letters, { before: [], after: [] }],
    // As a tokenizer has it that puts a space before each text.
    ["both ends, and a token for nothing", (text: string) => [1, text === "" ? 4 : 5, 2], { before: [1], after: [2] }],
    ["both ends, of unknown words", (text: string) => [1, ...(text === "" ? [] : [3]), 2], { before: [1], after: [2] }],
  ])("are found at %s", (_, encode, special) => {
    expect(specialTokensOf(encoder(encode))).toEqual(special);
  });

  test("are found where it throws on some texts", () => {
    const failing = encoder((text) => {
      if (text === "a") throw new Error("no such word");
      return [1, ...letters(text), 2];
    });
    expect(specialTokensOf(failing)).toEqual({ before: [1], after: [2] });
  });

  test("are not known where all texts have the same ids, or none", () => {
    expect(specialTokensOf(encoder((text) => [1, ...words(text), 2]))).toBeUndefined();
    const failing = encoder(() => {
      throw new Error("broken");
    });
    expect(specialTokensOf(failing)).toBeUndefined();
  });

  test("are kept around a text that is cut, and one is not cut where they are not known", () => {
    const spaced = (text: string): number[] => [1, ...text.split(" ").map((word) => 3 + word.length), 2];
    const tokenizer = { vocabularySize: 100, paddingId: 0, encode: spaced };
    expect(truncateTokens(tokenizer, "a bb ccc dddd", 4)).toEqual({ ids: [1, 4, 5, 2], tokens: 4 });
    const unknown = { vocabularySize: 10, paddingId: 0, encode: (text: string) => [1, ...words(text), 2] };
    expect(truncateTokens(unknown, "a bb ccc dddd", 4)).toEqual({ ids: null, tokens: 6 });
  });
});

describe("ids of a tokenizer that adds special tokens", () => {
  const special = { before: [1], after: [2] };

  test("are taken as it gives them", () => {
    const tokenizer = hashingTokenizer(1024);
    for (const text of ["", "a", "grey rain"]) checkSpecialTokens("ids", tokenizer.encode(text), special);
    checkSpecialTokens("ids", [7, 8], { before: [], after: [] });
  });

  test.each([
    [[7, 2], "begins with 7 and ends with 2"],
    [[1, 7], "begins with 1 and ends with 7"],
    [[1], "begins with 1 and ends with 1"],
  ])("are refused without them: %j", (ids, got) => {
    const message = `Expected \`ids\` to begin with 1 and end with 2, the special tokens that the model's tokenizer puts around a text, but it ${got}. Ids of another`;
    expect(() => checkSpecialTokens("ids", ids, special)).toThrow(message);
  });
});
