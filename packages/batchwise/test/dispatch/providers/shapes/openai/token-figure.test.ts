import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { tokenFigureIn } from "../../../../../src/dispatch/providers/openai/classify.ts";

describe("the figure of enqueued tokens in a refusal", () => {
  test.each<[words: string, figure: number | null]>([
    ["Enqueued token limit reached for gpt-4o in organization org-1. Limit: 90,000 enqueued tokens. Please", 90_000],
    ["Limit: 1,350,000 enqueued tokens.", 1_350_000],
    ["Limit: 2M enqueued tokens", 2_000_000],
    ["Limit: 2 M tokens", 2_000_000],
    ["Limit: 1.5 million enqueued tokens", 1_500_000],
    ["Limit: 1,5 million tokens", 1_500_000],
    ["Limit: 2 000 000 enqueued tokens", 2_000_000],
    ["Limit: 2\u202f000\u202f000 tokens", 2_000_000],
    ["Limit: 2.000.000 tokens", 2_000_000],
    ["Limit: 2'000'000 tokens", 2_000_000],
    ["Limit: 2_000_000 tokens", 2_000_000],
    ["Limit: 200k enqueued prompt tokens", 200_000],
    ["limit of 30B tokens", 30_000_000_000],
    ["limited to 40000 queued tokens", 40_000],
    ["Limit: 3 tokens", 3],
    ["Limit: 3 batches", null],
    ["Limit: 3 batches. You have 200 tokens", null],
    ["Limit: 2M", null],
    ["Limit: 1.5 tokens", null],
    ["Limit: none", null],
    ["Limit: 0 tokens", null],
    ["Limit: 99999999999999999999 tokens", null],
    ["Limit: 2 tokenizers", null],
    ["Too much.", null],
    ["", null],
  ])("%s: %s", (words, figure) => {
    expect(tokenFigureIn(words)).toBe(figure);
  });

  test("is read in every form of a number that it is written in", () => {
    const figure = fc.integer({ min: 1_000, max: 2_000_000_000 });
    const separator = fc.constantFrom(",", ".", "_", "'", " ", "\u00a0", "\u2009", "\u202f", "");
    fc.assert(
      fc.property(figure, separator, (number, between) => {
        const digits = number.toLocaleString("en-US").replaceAll(",", between);
        expect(tokenFigureIn(`Limit: ${digits} enqueued tokens. Please try again.`)).toBe(number);
      }),
    );
  });

  test("is never read of something else, and reading takes no long time", () => {
    const noun = fc.constantFrom("batches", "requests", "requests per day", "files", "");
    fc.assert(
      fc.property(fc.integer({ min: 1 }), noun, (number, of) => {
        expect(tokenFigureIn(`Limit: ${number} ${of}`)).toBeNull();
      }),
    );
    const startedAt = performance.now();
    expect(tokenFigureIn(`Limit: ${"1 ".repeat(50_000)}`)).toBeNull();
    expect(tokenFigureIn("limit ".repeat(20_000))).toBeNull();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});
