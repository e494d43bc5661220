import { describe, expect, test } from "vitest";
import { SPECIAL_TOKENS } from "../../src/models/encoder-model.ts";
import { hashingTokenizer } from "../../src/models/hashing-tokenizer.ts";

const tokenizer = hashingTokenizer(8192);
const words = (text: string): readonly number[] => tokenizer.encode(text).slice(1, -1);

describe("the hashing tokenizer", () => {
  test("puts its marks around a text, and around nothing", () => {
    const ids = tokenizer.encode("hello");
    expect(ids).toHaveLength(3);
    expect([ids[0], ids[2]]).toEqual([SPECIAL_TOKENS.classify, SPECIAL_TOKENS.separate]);
    expect(tokenizer.encode("  \n ")).toEqual([SPECIAL_TOKENS.classify, SPECIAL_TOKENS.separate]);
  });

  test("gives a word the same id wherever it stands, whatever its case or form", () => {
    expect(words("Grey skies")).toEqual([...words("grey"), ...words("SKIES")]);
    expect(words("ﬁne")).toEqual(words("fine"));
    expect(words("grey")).not.toEqual(words("skies"));
  });

  test("keeps its ids from one version to the next, because stored vectors depend on them", () => {
    expect(tokenizer.encode("Hello, world!")).toEqual([1, 2830, 875, 7415, 7956, 2]);
  });

  test("counts punctuation marks, and each character of scripts without spaces, as words", () => {
    expect(words("don't stop...")).toHaveLength(7);
    expect(words("東京 tower")).toHaveLength(3);
    expect(words("Зимний сад")).toHaveLength(2);
  });

  test("stays inside its vocabulary and spreads words over it", () => {
    const ids = Array.from({ length: 4000 }, (_, index) => words(`word${index}`)[0] ?? -1);
    for (const id of ids) expect(id >= SPECIAL_TOKENS.count && id < 8192).toBe(true);
    // 4,000 words in 8,189 places fill about 3,160 of them when the hash is even.
    expect(new Set(ids).size).toBeGreaterThan(3000);
  });

  test("cuts a run without spaces into pieces, so that its length still counts", () => {
    expect(words("a".repeat(6400))).toHaveLength(100);
  });

  test("refuses a vocabulary without room for words", () => {
    expect(() => hashingTokenizer(3)).toThrow(RangeError);
  });
});
