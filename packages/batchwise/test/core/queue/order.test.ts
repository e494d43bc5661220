import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { effectivePriority, goesBefore } from "../../../src/core/queue/order.ts";

const agings = fc.constantFrom(1, 3, 10, Number.POSITIVE_INFINITY);
const waiting = fc.record({
  priority: fc.integer({ min: -2, max: 3 }),
  isSmall: fc.boolean(),
  at: fc.integer({ min: 0, max: 30 }),
});

describe("the effective priority", () => {
  test.each([
    [2, 99, 100, 2],
    [2, 100, 100, 3],
    [-1, 350, 100, 2],
    [0, 1e9, Number.POSITIVE_INFINITY, 0],
    [1, -5, 100, 1],
  ])("of priority %d after %d ms is raised by one each %d ms: %d", (priority, waitedMs, agingMs, effective) => {
    expect(effectivePriority(priority, waitedMs, agingMs)).toBe(effective);
  });
});

describe("of two waiting entries", () => {
  test("the one of the higher effective priority goes first, then the older; small before large of one priority", () => {
    fc.assert(
      fc.property(waiting, waiting, agings, (a, b, agingMs) => {
        const now = 30;
        const [aNow, bNow] = [a, b].map(({ priority, at }) => priority + Math.floor((now - at) / agingMs)) as [
          number,
          number,
        ];
        let isBefore = a.at === b.at ? a.priority > b.priority : a.at < b.at;
        if (a.priority === b.priority && a.isSmall !== b.isSmall) isBefore = a.isSmall;
        if (aNow !== bNow) isBefore = aNow > bNow;
        expect(goesBefore(a, a.at, b, b.at, now, agingMs)).toBe(isBefore);
      }),
      { numRuns: 1_000 },
    );
  });

  test("never both go before the other, and never one before itself", () => {
    fc.assert(
      fc.property(waiting, waiting, agings, (a, b, agingMs) => {
        const isBefore = goesBefore(a, a.at, b, b.at, 30, agingMs);
        if (isBefore) expect(goesBefore(b, b.at, a, a.at, 30, agingMs)).toBe(false);
        expect(goesBefore(a, a.at, a, a.at, 30, agingMs)).toBe(false);
      }),
    );
  });
});
