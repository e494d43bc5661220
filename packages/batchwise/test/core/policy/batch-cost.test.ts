import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { longestFit, measureBatch, measured, orSum } from "../../../src/core/policy/batch-cost.ts";
import { range } from "../../support.ts";
import { entryOf } from "../support/queue-kit.ts";

function total(prefix: readonly number[]): number {
  return prefix.reduce((sum, cost) => sum + cost, 0);
}

function throwing(): never {
  throw new Error("no measure");
}

describe("the longest prefix that fits", () => {
  test("is found, with its cost, and has at least one item", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { minLength: 1, maxLength: 60, size: "max" }), fc.nat(200), (list, cap) => {
        let count = 1;
        while (count < list.length && total(list.slice(0, count + 1)) <= cap) count += 1;
        expect(longestFit(list, cap, total)).toEqual({ count, cost: total(list.slice(0, count)) });
      }),
    );
  });

  test("of no items is empty", () => {
    expect(longestFit([], 3, total)).toEqual({ count: 0, cost: 0 });
  });

  test.each([100, 1_000, 10_000])("shows the function O(n log n) of %i items, wherever the cut is", (size) => {
    for (const cap of [1, Math.floor(size * 0.7), size - 1, size]) {
      let seen = 0;
      const fit = longestFit(Array.from({ length: size }), cap, (prefix) => {
        seen += prefix.length;
        return prefix.length;
      });
      expect(fit).toEqual({ count: cap, cost: cap });
      expect(seen).toBeLessThanOrEqual(2 * size * Math.log2(size));
    }
  });

  test("ends, and has at least one item, under a function that keeps no promise", () => {
    const answers = fc.array(fc.oneof(fc.nat(9), fc.constant(Number.POSITIVE_INFINITY)), { minLength: 1 });
    fc.assert(
      fc.property(answers, fc.integer({ min: 1, max: 40 }), fc.nat(9), (drawn, size, cap) => {
        let asked = 0;
        const { count } = longestFit(range(size), cap, () => {
          asked += 1;
          return drawn[asked % drawn.length] as number;
        });
        expect(count).toBeGreaterThanOrEqual(1);
        expect(count).toBeLessThanOrEqual(size);
        expect(asked).toBeLessThan(20);
      }),
    );
  });
});

describe("what a cost function says", () => {
  test.each([
    ["throws", Number.POSITIVE_INFINITY, throwing],
    ["rejects", Number.POSITIVE_INFINITY, () => Promise.reject(new Error("no measure")) as never],
    ["returns a promise", Number.POSITIVE_INFINITY, () => Promise.resolve(1) as never],
    ["returns text", Number.POSITIVE_INFINITY, () => "2" as never],
    ["returns NaN", Number.POSITIVE_INFINITY, () => Number.NaN],
    ["returns less than nothing", Number.POSITIVE_INFINITY, () => -1],
    ["returns nothing", 0, () => 0],
    ["returns a number", 7, () => 7],
  ])("is a cost that does not fit where it %s, else its number: %d", (_how, cost, batchCost) => {
    expect(measured(batchCost, [1])).toBe(cost);
  });

  test("is asked of a copy: sorting it or emptying it changes no batch", () => {
    const items = [3, 1, 2];
    measured((copy) => (copy as number[]).splice(0).length, items);
    expect(items).toEqual([3, 1, 2]);
  });

  test("counts as the sum of the items where it is no number", () => {
    expect([orSum(4, 9), orSum(Number.POSITIVE_INFINITY, 9)]).toEqual([4, 9]);
  });
});

test("a batch costs the sum of its items, their number times the largest, or what the function says", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), (costs) => {
      const entries = costs.map((cost, id) => entryOf({ id, cost }));
      expect(measureBatch(entries, "sum")).toBe(total(costs));
      expect(measureBatch(entries, "padded")).toBe(costs.length * Math.max(0, ...costs));
      expect(measureBatch(entries, (items) => 100 + items.length)).toBe(100 + costs.length);
      expect(measureBatch(entries, () => Number.NaN)).toBe(total(costs));
    }),
  );
});
