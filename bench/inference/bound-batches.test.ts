import { describe, expect, test } from "vitest";
import { cutBatches, differentCuts, meanSize, SINGLE, spread, weightOf, wholeMs } from "./bound-batches.ts";

const way = (rows: number, tokens: number) => ({ name: `${rows}/${tokens}`, rows, tokens });

describe("batches of texts that are all known", () => {
  test("have each text once, as many together as rows and padded tokens allow", () => {
    expect(cutBatches([2, 2, 3, 5, 5], way(8, 10)).batches).toEqual([
      [0, 3],
      [3, 5],
    ]);
    expect(cutBatches([2, 2, 3, 5, 5], way(2, 100)).batches).toEqual([
      [0, 1],
      [1, 3],
      [3, 5],
    ]);
  });

  test("a text longer than the cap goes by itself", () => {
    expect(cutBatches([2, 2, 30], way(8, 10)).batches).toEqual([
      [0, 2],
      [2, 3],
    ]);
  });

  test("every single text is a batch of its own", () => {
    expect(cutBatches([2, 2, 30], SINGLE).batches).toHaveLength(3);
  });

  test("their size counts padding", () => {
    expect(meanSize([2, 2, 3, 5, 5], cutBatches([2, 2, 3, 5, 5], way(8, 10)))).toEqual({ rows: 2.5, cost: 9.5 });
  });

  test("equal cuts are measured once, and cuts into single texts not at all", () => {
    const cuts = differentCuts([100, 100, 100, 100]);
    expect(cuts.map(({ name }) => name)).toEqual(["8 rows, 256 tokens", "8 rows, 512 tokens"]);
  });
});

describe("a sample of batches", () => {
  test("has a few from everywhere, whatever it starts with", () => {
    for (const start of [0, 256, 1_000]) {
      const parts = new Set(spread(1_000, 16, start).map((at) => Math.floor(at / 125)));
      expect(parts.size).toBe(8);
    }
  });

  test("stands for all of them, though it has the small ones only", () => {
    const all = [weightOf(8, 8), weightOf(8, 8), weightOf(8, 16), weightOf(8, 32)];
    const callsMs = all.map((weight) => 0.1 * weight);
    const total = callsMs.reduce((sum, ms) => sum + ms, 0);
    expect(wholeMs(callsMs.slice(0, 2), all.slice(0, 2), all)).toBeCloseTo(total);
  });

  test("stays within the available batches", () => {
    expect(new Set(spread(2, 50, 7))).toEqual(new Set([0, 1]));
  });
});
