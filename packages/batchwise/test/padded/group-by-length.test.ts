import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { groupAround, groupByLength, WORTH_IT } from "../../src/padded/group-by-length.ts";

interface Caps {
  readonly maxRows: number;
  readonly budget: number;
  readonly fixedCost: number;
}

const drawnCaps = fc.record({
  maxRows: fc.integer({ min: 1, max: 9 }),
  budget: fc.constantFrom(1, 8, 20, 60, Number.POSITIVE_INFINITY),
  fixedCost: fc.constantFrom(0, 0.5, 4, 100),
});

function together(lengths: readonly number[], { fixedCost }: Caps): number {
  return fixedCost + lengths.length * Math.max(...lengths);
}

function saved(lengths: readonly number[], caps: Caps): number {
  const alone = lengths.reduce((sum, length) => sum + caps.fixedCost + length, 0);
  return alone / together(lengths, caps);
}

/**
 * Every run of items next to each other by length that contains the first one and keeps the caps.
 */
function allowedRuns(lengths: readonly number[], { maxRows, budget }: Caps): number[][] {
  const order = lengths.map((_, index) => index).sort((a, b) => (lengths[a] ?? 0) - (lengths[b] ?? 0) || a - b);
  const runs = order.flatMap((_, from) => order.map((__, to) => order.slice(from, to + 1)));
  return runs
    .filter((run) => run.includes(0))
    .map((run) => run.map((index) => lengths[index] as number))
    .filter((run) => run.length === 1 || (run.length <= maxRows && run.length * Math.max(...run) <= budget));
}

describe("the items that share a padded batch", () => {
  test("contain the first, keep the caps, and save as much as the best of all runs does, if that is worth it", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 9 }),
        drawnCaps,
        (lengths, caps) => {
          const group = groupByLength(lengths, caps);
          const chosen = group.map((index) => lengths[index] as number);
          expect(group[0]).toBe(0);
          expect(group).toEqual([...new Set(group)].sort((a, b) => a - b));
          expect(chosen.length).toBeLessThanOrEqual(caps.maxRows);
          if (chosen.length > 1) expect(chosen.length * Math.max(...chosen)).toBeLessThanOrEqual(caps.budget);
          const best = Math.max(...allowedRuns(lengths, caps).map((run) => saved(run, caps)));
          if (best >= WORTH_IT) expect(saved(chosen, caps)).toBeCloseTo(best, 9);
          else expect(group).toEqual([0]);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("are all of one length, as many as the budget holds, where a call costs anything", () => {
    const lengths = [10, 90, 10, 11, 10, 10];
    expect(groupByLength(lengths, { maxRows: 9, budget: 40, fixedCost: 2 })).toEqual([0, 2, 4, 5]);
    expect(groupByLength(lengths, { maxRows: 3, budget: 40, fixedCost: 2 })).toEqual([0, 2, 4]);
  });

  test.each([
    ["costs nothing", [0, 0, 0], [0, 1, 2]],
    ["costs too much to add up", [1e308, 1e308, 1e308], [0]],
  ])("are the requested ones where an item %s", (_, lengths, group) => {
    expect(groupByLength(lengths, { maxRows: 9, budget: Number.POSITIVE_INFINITY, fixedCost: 0 })).toEqual(group);
  });

  test("are only the first ones where little can be won", () => {
    const caps = { maxRows: 9, budget: Number.POSITIVE_INFINITY, fixedCost: 10 };
    expect(groupByLength([200, 200, 200], caps)).toEqual([0]);
    expect(groupByLength([100, 100, 100], caps)).toEqual([0]);
    expect(groupByLength([60, 60, 60], caps)).toEqual([0, 1, 2]);
  });

  test("contain all items that must go in one batch, and of the others those that cost less with them than by themselves", () => {
    const caps = { maxRows: 9, budget: 500, fixedCost: 20 };
    expect(groupAround(2, [5, 100, 6, 99, 101, 98, 50], caps)).toEqual([0, 1, 3, 5]);
    expect(groupAround(2, [5, 100, 99, 98], { ...caps, maxRows: 3 })).toEqual([0, 1, 2]);
    expect(groupAround(2, [5, 100, 99, 98], { ...caps, budget: 310 })).toEqual([0, 1, 2]);
  });

  test("are those of the first one where those that have to go are over the caps", () => {
    expect(groupAround(2, [5, 100, 5, 5], { maxRows: 9, budget: 150, fixedCost: 20 })).toEqual([0, 2, 3]);
    expect(groupAround(2, [5, 100, 5, 5], { maxRows: 1, budget: 500, fixedCost: 20 })).toEqual([0]);
  });
});
