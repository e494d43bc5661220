import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { measureBatch, measured, orSum } from "../../../src/core/policy/batch-cost.ts";
import { entryOf } from "../support/queue-kit.ts";

function total(prefix: readonly number[]): number {
  return prefix.reduce((sum, cost) => sum + cost, 0);
}

function throwing(): never {
  throw new Error("no measure");
}

describe("the result of a cost function", () => {
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

  test("counts as the sum of the items where it is no number", () => {
    expect([orSum(4, 9), orSum(Number.POSITIVE_INFINITY, 9)]).toEqual([4, 9]);
  });
});

test("a batch costs the sum of its items, their number times the largest, or the result of the function", () => {
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
