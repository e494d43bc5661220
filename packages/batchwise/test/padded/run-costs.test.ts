import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RunCosts } from "../../src/padded/run-costs.ts";
import { range } from "../support.ts";

/** Learns from batches of these costs, of items of cost 10, that take as long as `timeOf` says. */
function learnedFrom(costs: readonly number[], timeOf: (cost: number) => number): RunCosts {
  const learned = new RunCosts();
  for (const cost of costs) learned.record(cost, Math.max(1, cost / 10), timeOf(cost), cost);
  return learned;
}

const repeated = (costs: readonly number[], times: number): number[] =>
  Array.from({ length: times }, () => costs).flat();

/** Numbers from 0 to 1 that are the same each time. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

describe("the figure learned from run times", () => {
  test("is the cost of a call besides its items, as far as it is certain", () => {
    const learned = learnedFrom(repeated([10, 40, 100, 200], 10), (cost) => 3 + 0.1 * cost);
    expect(learned.fixedCost).toBeGreaterThan(26);
    expect(learned.fixedCost).toBeLessThanOrEqual(30);
  });

  test("is no fixed cost worth a batch, where times that differ by luck could show one", () => {
    const fixedCosts = range(40).map((seed) => {
      const random = seededRandom(seed + 1);
      const costs = range(30).map(() => 120 + Math.floor(120 * random()));
      return learnedFrom(costs, (cost) => 0.2 * (cost + 12) * (0.85 + 0.3 * random())).fixedCost;
    });
    // From 24 on, many such texts would save a tenth together.
    expect(fixedCosts.filter((fixedCost) => fixedCost >= 24).length).toBeLessThanOrEqual(6);
  });

  test("is the same budget, whichever of its items was quickest by itself", () => {
    for (const quick of [100, 140, 200]) {
      const learned = new RunCosts();
      for (const cost of repeated([100, 140, 200], 10))
        learned.record(cost, 1, cost === quick ? 0.9 * cost : cost, cost);
      expect(learned.budget).toBeGreaterThanOrEqual(2 * quick - 1);
    }
  });

  test.each([0, 0.05, 0.1])(
    "starts anew only for a change of the handler, where %d of the batches are odd",
    (share) => {
      const random = seededRandom(7);
      const learned = new RunCosts();
      const run = (batches: number, pace: number): number =>
        range(batches).filter(() => {
          const cost = 10 * 2 ** Math.floor(5 * random());
          const isOdd = random() < share;
          const wasKnown = learned.isKnown;
          learned.record(cost, cost / 10, pace * (30 + cost) * (isOdd ? 3 : 1), cost);
          return wasKnown && learned.state === "relearning";
        }).length;
      expect(run(10_000, 1)).toBe(0);
      expect(run(60, 4)).toBe(1);
    },
  );

  test("allows larger batches again once those that were too large are long past", () => {
    const learned = learnedFrom(repeated([100, 200, 400], 10), (cost) => (cost > 100 ? 3 * cost : 50 + cost));
    expect(learned.budget).toBeLessThan(110);
    const budgets = range(100).map(() => {
      learned.record(100, 10, 150, 100);
      return learned.budget;
    });
    expect(Math.max(...budgets)).toBeCloseTo(200, 0);
  });

  test("is that a call is all that costs, where cost makes no difference", () => {
    expect(learnedFrom(repeated([10, 40, 100], 10), () => 5).fixedCost).toBeGreaterThan(1_000);
  });

  test("is no fixed cost, where the cost of a batch is that of its items", () => {
    expect(learnedFrom(repeated([10, 40, 100], 10), (cost) => 0.2 * cost).fixedCost).toBeCloseTo(0, 6);
  });

  test("allows twice the largest batch while larger ones cost less per unit, and no more once they cost more", () => {
    const falling = learnedFrom(repeated([100, 200], 10), (cost) => 50 + cost);
    expect(falling.budget).toBeCloseTo(400, 0);
    const rising = learnedFrom(repeated([100, 200, 400], 10), (cost) => (cost > 200 ? 3 * cost : 50 + cost));
    expect(rising.budget).toBeLessThan(310);
  });

  test("is forgotten after three batches in a row that take twice as long, not after two", () => {
    const learned = learnedFrom(repeated([100, 200], 10), (cost) => 50 + cost);
    expect(new RunCosts().state).toBe("learning");
    for (let times = 0; times < 2; times += 1) learned.record(200, 20, 1_000, 200);
    expect(learned.budget).toBeCloseTo(400, 0);
    expect(learned.state).toBe("learned");
    learned.record(200, 20, 1_000, 200);
    expect(learned.budget).toBeLessThan(100);
    expect(learned.state).toBe("relearning");
  });

  test("allows twice the size that took no measurable time, until a batch takes time", () => {
    const learned = learnedFrom([10, 20, 40], () => 0);
    expect(learned.budget).toBe(80);
    learned.record(20, 2, 1, 20);
    expect(learned.budget).toBeLessThan(80);
  });

  test("is a budget and a fixed cost that are numbers from zero on, whatever times and costs come", () => {
    const number = fc.oneof(
      fc.constantFrom(0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e-300, 1e300, 5e-324),
      fc.double({ min: 1e-3, max: 1e6, noNaN: true }),
    );
    const batches = fc.array(fc.tuple(number, fc.integer({ min: 1, max: 1_000 }), number), { maxLength: 200 });
    fc.assert(
      fc.property(batches, (all) => {
        const learned = new RunCosts();
        for (const [cost, items, runMs] of all) {
          learned.record(cost, items, runMs, cost);
          expect(learned.budget).toBeGreaterThanOrEqual(0);
          expect(learned.fixedCost).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});
