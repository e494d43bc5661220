// Truncation and counting read a part of a long text. Compares their results with the ids of the
// whole text.

import { describe, expect, test } from "vitest";
import { mulberry32 } from "../../../../server/src/models/seeded-weights.ts";
import { countTokens, type Tokenizer, truncateTokens } from "../../../src/onnx/text/tokenizer.ts";
import { runsAllCases } from "../../dispatch/support/breadth.ts";
import { KINDS, loadKind, WORDS } from "./tokenizer-kinds.ts";

const SEEDS = runsAllCases ? 6 : 3;

type Random = () => number;

const below = (random: Random, limit: number): number => Math.floor(random() * limit);
const oneOf = <Value>(random: Random, values: readonly Value[]): Value => values[below(random, values.length)] as Value;

const GAPS = [" ", " ", " ", "  ", "\n", "\n\n", "\t", " \n ", "\u3000", ", ", ".\n", "! "] as const;
const ODD = ["\u4e01", "\u{1f600}", "e\u0301", "[SEP]", "\uff5e", "\u2581", "\u03a3", "don't", "12345", "..."] as const;

/**
 * Words with gaps of all kinds, and a few runs without gaps, of one letter or of characters without
 * a token.
 */
function randomText(random: Random, length: number, rowEvery: number): string {
  let text = "";
  while (text.length < length) {
    const word = random() < 0.8 ? oneOf(random, WORDS) : oneOf(random, ODD);
    const row = random() < 1 / rowEvery ? oneOf(random, ["a", "\u4e01", "!", "ab"]).repeat(below(random, 300)) : "";
    text += word + row + oneOf(random, GAPS);
  }
  return text;
}

/** The first tokens of the whole text that fit, between its special ones. */
function firstOf(whole: readonly number[], maxTokens: number): readonly number[] {
  return whole.length <= maxTokens ? whole : [...whole.slice(0, maxTokens - 1), ...whole.slice(-1)];
}

function lastOf(whole: readonly number[], maxTokens: number): readonly number[] {
  return whole.length <= maxTokens ? whole : [...whole.slice(0, 1), ...whole.slice(1 - maxTokens)];
}

/** Notes the longest text that the tokenizer is given. */
function watched(tokenizer: Tokenizer): { readonly tokenizer: Tokenizer; longest: number } {
  const of = {
    longest: 0,
    tokenizer: {
      ...tokenizer,
      encode: (text: string) => {
        of.longest = Math.max(of.longest, text.length);
        return tokenizer.encode(text);
      },
    },
  };
  return of;
}

describe.each(KINDS)("with %s", (kind) => {
  test("a truncated text has the first ids of the whole text, and a count refuses none that fits", async () => {
    const tokenizer = await loadKind(kind);
    const of = watched(tokenizer);
    let cuts = 0;
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const random = mulberry32(seed);
      const text = randomText(random, 17_000 + below(random, 20_000), oneOf(random, [5, 50, 1_000]));
      const whole = tokenizer.encode(text);
      for (const maxTokens of [8, 512, whole.length - 1, whole.length]) {
        of.longest = 0;
        const { ids } = truncateTokens(of.tokenizer, text, maxTokens);
        if (of.longest < text.length) cuts += 1;
        expect(ids, `seed ${seed}, ${maxTokens} tokens`).toEqual(firstOf(whole, maxTokens));
        const counted = countTokens(tokenizer, text, maxTokens);
        expect(counted.ids === null, `seed ${seed}, ${maxTokens} tokens`).toBe(whole.length > maxTokens);
      }
    }
    expect(cuts).toBeGreaterThan(SEEDS);
  });

  test("a text that loses its beginning is tokenised as a whole", async () => {
    const tokenizer: Tokenizer = { ...(await loadKind(kind)), truncationSide: "left" };
    for (let seed = 0; seed < 4; seed += 1) {
      const text = randomText(mulberry32(seed), 30_000, 20);
      expect(truncateTokens(tokenizer, text, 512).ids).toEqual(lastOf(tokenizer.encode(text), 512));
    }
  });

  test("a row without spaces is cut nowhere: it is tokenised as a whole, or refused by its length", async () => {
    const tokenizer = await loadKind(kind);
    for (const length of [20_001, 20_002, 20_003]) {
      const text = "aab".repeat(length).slice(0, length);
      expect(truncateTokens(tokenizer, text, 512).ids).toEqual(firstOf(tokenizer.encode(text), 512));
    }
    expect(() => truncateTokens(tokenizer, "a".repeat(51_201), 512)).toThrow(
      "has 51201 characters, and at most 51200 are tokenised",
    );
    expect(countTokens(tokenizer, "a".repeat(51_201), 512)).toMatchObject({ ids: null });
  });

  test("a text of any length is truncated at its spaces", async () => {
    const tokenizer = await loadKind(kind);
    const of = watched(tokenizer);
    const text = randomText(mulberry32(7), 17_000, 50);
    const { ids } = truncateTokens(of.tokenizer, text.repeat(100), 512);
    expect(ids).toEqual(firstOf(tokenizer.encode(text), 512));
    expect(of.longest).toBeLessThanOrEqual(16_384);
  });
});

test("a tokenizer with a token that spans two words cuts no text", async () => {
  const spanning = { "[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, a: 4, "\u2581": 5, "a\u2581a": 6 };
  const vocab = Object.keys(spanning).map((token, index) => [token, -1 - index]);
  const tokenizer = await loadKind("Unigram", { model: { type: "Unigram", unk_id: 1, vocab } });
  const text = "a ".repeat(10_001);
  expect(tokenizer.splitsAtSpaces).toBe(false);
  expect(truncateTokens(tokenizer, text, 512).ids).toEqual(firstOf(tokenizer.encode(text), 512));
  expect(() => truncateTokens(tokenizer, text.repeat(3), 512)).toThrow("at most 51200");
});
