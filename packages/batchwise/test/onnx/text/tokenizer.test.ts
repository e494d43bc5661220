import { describe, expect, test } from "vitest";
import { hashingTokenizer } from "../../../../server/src/models/hashing-tokenizer.ts";
import { type TokenizeOptions, tokenizeAll } from "../../../src/onnx/text/tokenize-all.ts";
import { countTokens, type TokenCount, type Tokenizer, truncateTokens } from "../../../src/onnx/text/tokenizer.ts";
import { computingMs, range } from "../../support.ts";

const tokenizer = hashingTokenizer(8192);

function tokenizeHere(
  tokenizer: Tokenizer,
  texts: readonly string[],
  maxTokens: number,
  options?: TokenizeOptions,
): Promise<TokenCount[]> {
  return tokenizeAll({ tokenizer, limit: { maxTokens, truncate: false } }, texts, options);
}

describe("counting tokens", () => {
  test("gives the ids of a text that fits, up to the last token", () => {
    const text = "word ".repeat(10);
    expect(countTokens(tokenizer, text, 12)).toEqual({ ids: tokenizer.encode(text), tokens: 12 });
  });

  test("gives the exact count of a text that is a little too long", () => {
    expect(countTokens(tokenizer, "word ".repeat(11), 12)).toEqual({ ids: null, tokens: 13 });
  });

  test("estimates a text that is far too long without tokenising it", () => {
    const never: Tokenizer = {
      vocabularySize: 8,
      paddingId: 0,
      encode() {
        throw new Error("tokenised");
      },
    };
    const count = countTokens(never, "a".repeat(10_000_000), 512);
    expect(count.ids).toBeNull();
    expect(count.tokens).toBeGreaterThan(512);
  });

  test("looks at no more of a long text than shows that it is too long, where words have tokens of their own", () => {
    for (const splitsAtSpaces of [true, false]) {
      const looked: number[] = [];
      const encode = (text: string): number[] => {
        looked.push(text.length);
        const words = text.split(" ").filter((word) => word !== "");
        return [1, ...words.map((word) => 3 + (word.length % 7)), 2];
      };
      const tokenizer: Tokenizer = { vocabularySize: 10, paddingId: 0, splitsAtSpaces, encode };
      const text = range(60_000)
        .map((index) => "x".repeat(1 + (index % 5)))
        .join(" ");
      expect(countTokens(tokenizer, text, 4_096).ids).toBeNull();
      const kept = encode(text).slice(1, 4_095);
      looked.length = 0;
      expect(truncateTokens(tokenizer, text, 4_096)).toEqual({ ids: [1, ...kept, 2], tokens: 4_096 });
      const longest = Math.max(...looked);
      if (splitsAtSpaces) expect(longest).toBeLessThanOrEqual(8 * 4_096);
      else expect(longest).toBe(text.length);
    }
  });

  test("reads on where a long text may still fit, for it has few tokens", () => {
    const looked: number[] = [];
    const encode = (text: string): number[] => {
      looked.push(text.length);
      return text.split(" ").map(() => 3);
    };
    const text = range(1_000)
      .map(() => "x".repeat(60))
      .join(" ");
    const tokenizer: Tokenizer = { vocabularySize: 10, paddingId: 0, splitsAtSpaces: true, encode };
    expect(countTokens(tokenizer, text, 4_096).tokens).toBe(1_000);
    expect(looked).toEqual([61 * 537 - 1, 60_999]);
  });

  test("takes far less time for a text of combining marks than to normalise it takes", () => {
    const marks = `a${"\u0301\u0316".repeat(12_500)}`;
    const whole = computingMs(() => marks.normalize("NFKC"));
    for (const count of [countTokens, truncateTokens]) {
      expect(computingMs(() => count(tokenizer, marks, 512))).toBeLessThan(0.3 * whole);
    }
  });

  test("does not change the marks of a long text, up to thirty in a row", () => {
    const text = "a\u0301 e\u0316\u0301 ".repeat(400) + "\u0301".repeat(30);
    expect(countTokens(tokenizer, text, 2_000).ids).toEqual(tokenizer.encode(text));
  });

  test("keeps the order of many texts and gives way to other work between them", async () => {
    const slow: Tokenizer = {
      vocabularySize: 100,
      paddingId: 0,
      encode(text) {
        const until = performance.now() + 1;
        while (performance.now() < until);
        return [Number(text)];
      },
    };
    let others = 0;
    const timer = setInterval(() => {
      others += 1;
    }, 1);
    const counts = await tokenizeHere(
      slow,
      Array.from({ length: 40 }, (_, index) => String(index)),
      10,
    );
    clearInterval(timer);
    expect(counts.map((count) => count.ids?.[0])).toEqual(Array.from({ length: 40 }, (_, index) => index));
    expect(others).toBeGreaterThan(0);
  });

  test("stops before the next text once its caller has left, with the caller's reason", async () => {
    const caller = new AbortController();
    let encoded = 0;
    const counting: Tokenizer = {
      ...tokenizer,
      encode() {
        encoded += 1;
        if (encoded === 3) caller.abort(new Error("left"));
        return [3];
      },
    };
    const counts = tokenizeHere(counting, new Array<string>(10).fill("text"), 8, { signal: caller.signal });
    await expect(counts).rejects.toThrow("left");
    expect(encoded).toBe(3);
  });

  test("names the text for which the tokenizer throws", async () => {
    const cause = new RangeError("Maximum call stack size exceeded");
    const failing: Tokenizer = {
      ...tokenizer,
      encode(text) {
        if (text === "bad") throw cause;
        return [3];
      },
    };
    const message = "The tokenizer failed on `texts[1]`: Maximum call stack size exceeded";
    await expect(tokenizeHere(failing, ["good", "bad"], 8)).rejects.toMatchObject({
      code: "MODEL_INPUT",
      message,
      cause,
    });
  });
});
