import { describe, expect, test } from "vitest";
import type { RoundFigures } from "./turns.ts";
import { medianOf, ratioOf, settledAfter } from "./turns.ts";

const round = (perSecond: number): RoundFigures => ({
  ...{ perSecond, p50Ms: 1, p99Ms: 2 },
  ...{ loopDelayP99Ms: 1, rows: 1, cost: 1, cpuMs: 1 },
});

describe("the time that a service takes to learn", () => {
  test("one that is as fast from the start is settled after a second", () => {
    expect(settledAfter(new Array(12).fill(100))).toBe(1);
  });

  test("one that is slow for two seconds is settled when a whole second is near its final rate", () => {
    expect(settledAfter([...new Array(8).fill(50), ...new Array(16).fill(100)])).toBe(3);
  });

  test("one that answers nothing at first is not settled by that", () => {
    expect(settledAfter([0, 0, 0, 0, 100, 100, 100, 100, 100, 100, 100, 100])).toBe(2);
  });
});

describe("figures of rounds", () => {
  const rounds = { one: [round(10), round(40), round(30)], other: [round(10), round(20), round(10)] };

  test("a figure is the median over the rounds", () => {
    expect(medianOf(rounds, "one", "perSecond")).toBe(30);
  });

  test("a ratio is formed within each round, and is the median of these", () => {
    expect(ratioOf(rounds, "one", "other", "perSecond")).toBe(2);
  });

  test("of values that were not measured it is NaN", () => {
    expect(ratioOf(rounds, "one", "another", "perSecond")).toBe(Number.NaN);
    expect(medianOf(rounds, "another", "perSecond")).toBe(Number.NaN);
  });
});
