import { describe, expect, test } from "vitest";
import { type BoundedClaim, type BoundLooks, boundOf, fitCalls, isOutOfReach } from "./bound-figures.ts";
import type { RoundFigures } from "./turns.ts";

const rounds = (...perSecond: number[]): RoundFigures[] =>
  perSecond.map((value) => ({
    ...{ perSecond: value, p50Ms: 1, p99Ms: 2 },
    ...{ loopDelayP99Ms: 1, rows: 1, cost: 1, cpuMs: 1 },
  }));
const looks = (...names: string[]): BoundLooks => ({
  ...{ workers: 2, texts: 100, tokens: 12, probes: [] },
  looked: names.map((name) => ({ name, perSecond: 1, rows: 8, cost: 100 })),
});

describe("the best batches of the model alone", () => {
  test("are those with the highest ratio to each text alone, by the rounds and not by the first look", () => {
    const bound = boundOf(looks("first", "second", "not measured"), {
      "the model, each text alone": rounds(100, 50, 100),
      "the model, first": rounds(150, 60, 140),
      "the model, second": rounds(160, 75, 170),
    });
    expect(bound).toEqual({
      ...{ alone: 100, best: 160, ratio: 1.6 },
      ...{ name: "the model, second", rows: 8, cost: 100 },
    });
  });

  test("are each text alone where no others are faster", () => {
    const bound = boundOf(looks("first"), {
      "the model, each text alone": rounds(100),
      "the model, first": rounds(90),
    });
    expect(bound).toMatchObject({ best: 100, ratio: 1, name: "the model, each text alone", rows: 1, cost: 12 });
  });
});

describe("the cost of a call", () => {
  test("is found where it is a line", () => {
    const cost = fitCalls([8, 16, 64, 256].map((tokens) => ({ tokens, ms: 1.5 + 0.1 * tokens })));
    expect(cost.fixedMs).toBeCloseTo(1.5);
    expect(cost.tokenMs).toBeCloseTo(0.1);
    expect(cost.fixedTokens).toBeCloseTo(15);
  });

  test("a large call that is a tenth off moves it no more than a small one that is", () => {
    const line = [8, 16, 32, 64, 128, 256].map((tokens) => ({ tokens, ms: 1.5 + 0.1 * tokens }));
    const off = fitCalls(line.map((probe) => (probe.tokens === 256 ? { ...probe, ms: probe.ms * 1.1 } : probe)));
    expect(off.fixedMs).toBeGreaterThan(1.3);
  });
});

describe("a target that is out of reach", () => {
  const claim = (measured: number, bound?: number): BoundedClaim => ({
    ...{ text: "", measured, sense: "at least", limit: 2, unit: "x" },
    bound,
  });

  test("is missed, and the model alone misses it too", () => {
    expect(isOutOfReach(claim(1.4, 1.5))).toBe(true);
  });

  test.each([
    ["is met", 2, 1.5],
    ["is within the tolerance", 1.95, 1.88],
    ["is missed, and the model alone meets it", 1.4, 2.1],
    ["is missed, and the model alone is within the tolerance", 1.4, 1.95],
    ["has no bound", 1.4, undefined],
    ["has a bound that is not a number", 1.4, Number.NaN],
    ["has a bound that what was measured passes, so that it is none", 1.4, 1.2],
  ])("is not one that %s", (_, measured, bound) => {
    expect(isOutOfReach(claim(measured, bound))).toBe(false);
  });
});
