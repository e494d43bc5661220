// Table: when an account is swept next.

import { expect, test } from "vitest";
import { nextSweepAt, parseSweep, sweepText } from "../../../../src/dispatch/batches/sweep/sweep-schedule.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = 1_000 * HOUR;
const last = (agoMs: number, calls: number) => ({ at: NOW - agoMs, calls });

test.each([
  ["one that was never swept: at once", null, true, 0],
  ["one that is used: ten minutes after the last time", last(4 * MINUTE, 2), false, 6 * MINUTE],
  ["one that is used, however many calls a sweep takes", last(0, 500), false, 10 * MINUTE],
  ["an idle one of two calls: twelve times a day", last(0, 2), true, 130 * MINUTE],
  ["an idle one of one call: less than once an hour", last(0, 1), true, 65 * MINUTE],
  ["an idle one whose last sweep came to no call", last(0, 0), true, 65 * MINUTE],
  ["an idle one of five calls: four times a day", last(0, 5), true, 390 * MINUTE],
  ["an idle one with a long list: twice a day at the least", last(0, 100), true, 13 * HOUR],
  ["one that a clock a day ahead says was swept: at once", last(-24 * HOUR, 2), true, 0],
  ["one that a clock a minute ahead says was swept", last(-MINUTE, 2), false, 11 * MINUTE],
] as const)("%s", (_name, before, isIdle, waitMs) => {
  expect(nextSweepAt(before, isIdle, NOW) - NOW).toBe(waitMs);
});

test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])(
  "sweeps of %i calls make at most 24 calls in any 24 hours",
  (calls) => {
    const everyMs = nextSweepAt(last(0, calls), true, NOW) - NOW;
    expect((Math.floor((24 * HOUR) / everyMs) + 1) * calls).toBeLessThanOrEqual(24);
  },
);

test("a mark returns its own text, and any other text means nothing", () => {
  expect(parseSweep(sweepText({ at: 12, calls: 3 }, "pod 1"))).toEqual({ at: 12, calls: 3 });
  expect(parseSweep("12 3")).toEqual({ at: 12, calls: 3 });
  for (const text of [null, "", "12", "12 x", "never 3"]) expect(parseSweep(text)).toBe(null);
});
