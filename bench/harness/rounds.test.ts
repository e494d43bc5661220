import { describe, expect, test } from "vitest";
import { contendersOf, ratioOf } from "./rounds.ts";

const plan = { workload: "w1", contenders: ["slow", "ours", "base"], rounds: 3, settings: {} };

describe("the contenders of a round", () => {
  test("are all of the plan, without the skipped ones", () => {
    expect(contendersOf(plan, 2)).toEqual(["slow", "ours", "base"]);
    expect(contendersOf({ ...plan, skip: ["ours"] }, 0)).toEqual(["slow", "base"]);
  });

  test("a contender with fewer rounds runs in the first ones only", () => {
    const shorter = { ...plan, fewer: { slow: 1 } };
    expect([0, 1, 2].map((round) => contendersOf(shorter, round).includes("slow"))).toEqual([true, false, false]);
    expect(contendersOf({ ...plan, rounds: 1, fewer: { slow: 5 } }, 1)).toEqual([]);
  });

  test("a plan beside a longer one has none after its own rounds", () => {
    expect(contendersOf(plan, 3)).toEqual([]);
  });
});

describe("a ratio of two contenders", () => {
  const results = new Map([
    ["base", [{ ns: 10 }, { ns: 20 }, { ns: 40 }]],
    ["ours", [{ ns: 30 }, { ns: 20 }, { ns: 80 }]],
    ["slow", [{ ns: 100 }]],
    ["skipped", []],
  ]);

  test("is the median over the rounds, each ratio from one round", () => {
    expect(ratioOf(results, "ours", "base", "ns")).toBe(2);
  });

  test("uses the rounds in which both ran", () => {
    expect(ratioOf(results, "slow", "ours", "ns")).toBeCloseTo(100 / 30);
    expect(ratioOf(results, "ours", "slow", "ns")).toBe(0.3);
  });

  test("is NaN where one of them was left out", () => {
    expect(ratioOf(results, "skipped", "base", "ns")).toBeNaN();
    expect(ratioOf(results, "ours", "skipped", "ns")).toBeNaN();
  });
});
