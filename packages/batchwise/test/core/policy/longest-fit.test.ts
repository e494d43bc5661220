import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { longestFit } from "../../../src/core/policy/longest-fit.ts";
import type { Entry } from "../../../src/core/queue/entry.ts";
import { range } from "../../support.ts";
import { entryOf } from "../support/queue-kit.ts";

type Costs = readonly number[];

/** Functions that grow in different ways; none decreases when items are added. */
const functions: Readonly<Record<string, (costs: Costs) => number>> = {
  sum: total,
  "a sum beside a fixed cost": (costs) => 40 + total(costs),
  padded: (costs) => costs.length * Math.max(...costs),
  "the largest": (costs) => Math.max(...costs),
  squares: (costs) => total(costs) ** 2,
  "steps of 64": (costs) => Math.ceil(total(costs) / 64) * 64,
  logarithm: (costs) => Math.log2(total(costs) + 1),
  powers: (costs) => 2 ** costs.length,
  distinct: (costs) => new Set(costs).size,
  "nothing, then all": (costs) => (costs.length > 37 ? 1e9 : 0),
  "one, then no number": (costs) => (costs.length > 37 ? Number.POSITIVE_INFINITY : 1),
};

const drawnFunction = fc.constantFrom(...Object.keys(functions));
const drawnCosts = fc.array(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(1, 500)), {
  minLength: 1,
  maxLength: 400,
  size: "max",
});
/** The cap is the cost of this many first items, sometimes plus a little more. */
const drawnCap = fc.record({ of: fc.integer({ min: 1, max: 400 }), more: fc.constantFrom(0, 0, 0.5, 3) });

function total(costs: Costs): number {
  return costs.reduce((sum, cost) => sum + cost, 0);
}

/** Searches among waiting entries, and counts how often the function has read an item. */
function search(costs: Costs, cap: number, costOf: (costs: Costs) => number): { count: number; visits: number } {
  let visits = 0;
  const entries = costs.map((cost, id) => Object.assign(entryOf({ id, cost: costOf([cost]) }), { item: cost }));
  const read = (count: number): readonly Entry[] => entries.slice(0, count);
  const fit = longestFit(read, cap, (items) => {
    visits += items.length;
    return costOf(items as number[]);
  });
  expect(fit.cost).toBe(costOf(costs.slice(0, fit.count)));
  expect(fit.isCut).toBe(fit.count < costs.length);
  return { count: fit.count, visits };
}

/** The number of first items that fit, found one by one. */
function longest(costs: Costs, cap: number, costOf: (costs: Costs) => number): number {
  let count = 1;
  while (count < costs.length && costOf(costs.slice(0, count + 1)) <= cap) count += 1;
  return count;
}

describe("the longest run of first entries that fits", () => {
  test("is found exactly where costs add up, at 6 looks an item", () => {
    fc.assert(
      fc.property(drawnCosts, drawnCap, (costs, cap) => {
        const most = total(costs.slice(0, cap.of)) + cap.more;
        const { count, visits } = search(costs, most, total);
        expect(count).toBe(longest(costs, most, total));
        expect(visits).toBeLessThanOrEqual(6 * count);
      }),
      { endOnFailure: true },
    );
  });

  test("is found exactly among 15, and takes at most 11 looks an item among any, whatever the function", () => {
    fc.assert(
      fc.property(drawnCosts, drawnCap, drawnFunction, (costs, cap, name) => {
        const costOf = functions[name] as (costs: Costs) => number;
        const most = costOf(costs.slice(0, cap.of)) + cap.more;
        const { count, visits } = search(costs, most, costOf);
        expect(visits).toBeLessThanOrEqual(11 * count);
        const best = longest(costs, most, costOf);
        if (best <= 15) expect(count).toBe(best);
        expect(count).toBeLessThanOrEqual(best);
        expect(count).toBeGreaterThan(best / 2);
      }),
      { numRuns: 500, endOnFailure: true },
    );
  });

  test("of no entries is empty", () => {
    const fit = longestFit(
      () => [],
      3,
      () => 0,
    );
    expect(fit).toMatchObject({ count: 0, isCut: false });
  });

  test("ends, and has at least one item, under a function that keeps no promise", () => {
    const answers = fc.array(fc.oneof(fc.nat(9), fc.constant(Number.POSITIVE_INFINITY)), { minLength: 1 });
    fc.assert(
      fc.property(answers, fc.integer({ min: 1, max: 40 }), fc.nat(9), (drawn, size, cap) => {
        let asked = 0;
        const { count } = longestFit(
          (most) => range(Math.min(size, most)).map((id) => entryOf({ id })),
          cap,
          () => {
            asked += 1;
            return drawn[asked % drawn.length] as number;
          },
        );
        expect(count).toBeGreaterThanOrEqual(1);
        expect(count).toBeLessThanOrEqual(size);
        expect(asked).toBeLessThan(20);
      }),
    );
  });
});
