import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { leadOf } from "../../../src/core/queue/rank.ts";
import { goesBefore } from "../support/goes-before.ts";

const waiting = fc.record({
  priority: fc.integer({ min: -2, max: 3 }),
  isSmall: fc.boolean(),
  at: fc.integer({ min: 0, max: 30 }),
});

interface Waiting {
  readonly priority: number;
  readonly isSmall: boolean;
  readonly at: number;
}

/** The order of two entries by rank: below 0 if the first goes first. */
function byRank(a: Waiting, b: Waiting, agingMs: number): number {
  const [first, second] = [leadOf(a.priority, a.isSmall, agingMs), leadOf(b.priority, b.isSmall, agingMs)];
  if (first.tier !== second.tier) return first.tier - second.tier;
  const [aRank, bRank] = [a.at - first.leadMs, b.at - second.leadMs];
  return aRank === bRank ? a.at - b.at : aRank - bRank;
}

describe("the rank of a waiting entry", () => {
  test.each([
    [0, false, 100, { tier: 0, leadMs: 0 }],
    [2, false, 100, { tier: 0, leadMs: 200 }],
    [2, true, 100, { tier: 0, leadMs: 250 }],
    [-1, false, 100, { tier: 0, leadMs: -100 }],
    [0, false, Infinity, { tier: -0, leadMs: 0 }],
    [3, true, Infinity, { tier: -3, leadMs: Infinity }],
    [Infinity, false, 100, { tier: -Infinity, leadMs: 0 }],
    [-Infinity, false, 100, { tier: Infinity, leadMs: 0 }],
    [1e306, false, 10_000, { tier: -1e306, leadMs: 0 }],
  ])("of priority %d, small %s, with a step each %d ms", (priority, isSmall, agingMs, rank) => {
    expect(leadOf(priority, isSmall, agingMs)).toEqual(rank);
  });

  test("orders entries: a step of priority outweighs `priorityAgingMs`, half of it a small call", () => {
    fc.assert(
      fc.property(waiting, waiting, fc.constantFrom(1, 3, 10, Infinity), (a, b, agingMs) => {
        const [one, other] = [a, b].map((of) => ({ ...of, moment: { at: of.at } })) as [never, never];
        expect(byRank(a, b, agingMs) < 0).toBe(goesBefore(one, other, agingMs));
      }),
      { numRuns: 1_000 },
    );
  });
});
