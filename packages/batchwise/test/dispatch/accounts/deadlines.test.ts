import { expect, test } from "vitest";
import { halfTime, outlookOf, type Prospect } from "../../../src/dispatch/accounts/deadlines.ts";

const NOW = 1_000_000_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NEVER = Number.POSITIVE_INFINITY;

const of = (opensAt: number, turnaroundMs: number, takes = NEVER): Prospect => ({
  ...{ opensAt, turnaroundMs, isKnown: true, takes },
});
const slow = of(NOW, HOUR);
const quick = of(NOW, MINUTE);
const full = of(NEVER, HOUR);
const paused = of(NEVER, HOUR, 0);
const probed = of(NOW, MINUTE, 2);

test.each<[string, Prospect[], Prospect[], number, number, number]>([
  ["of an account that is open, by its turnaround", [slow], [quick], HOUR, HOUR, NEVER],
  ["of one that opens later, from then on", [of(NOW + HOUR, HOUR)], [quick], 3 * HOUR, 2 * HOUR, NEVER],
  ["of one that may open any time, as if it did now", [of(NEVER, HOUR)], [quick], 2 * HOUR, HOUR, NEVER],
  ["of one that is closed and quick, a minute", [of(NEVER, 0)], [quick], 2 * HOUR, MINUTE, NEVER],
  ["of several, by the soonest", [slow, of(NOW, HOUR / 2)], [quick], HOUR, HOUR / 2, NEVER],
  ["and no fallback account that is slower", [slow], [of(NOW, 2 * HOUR)], HOUR, HOUR, 0],
  [
    "and a slower one where the account opens too late",
    [of(NOW + HOUR, 0)],
    [of(NOW, 2 * HOUR)],
    HOUR / 2,
    HOUR + MINUTE,
    NEVER,
  ],
  ["and none that is closed", [slow], [of(NOW + 1, 0)], HOUR, HOUR, 0],
  ["and the open one of two", [slow], [of(NEVER, 0), quick], HOUR, HOUR, NEVER],
  ["and none that takes only a probe", [slow], [probed], HOUR, HOUR, 0],
  ["and one that takes a probe where the account is paused", [paused], [probed], HOUR, HOUR, 2],
  [
    "and one that takes a probe where it is blocked for longer",
    [of(NOW + 2 * HOUR, HOUR)],
    [probed],
    HOUR,
    3 * HOUR,
    2,
  ],
  ["and none that takes a probe where the account is full", [full], [probed], HOUR, HOUR, 0],
  ["and one that takes a probe where it is full in the last minute", [full], [probed], MINUTE, HOUR, 2],
  ["and none that takes a probe where it sends in the last minute", [slow], [probed], MINUTE, HOUR, 0],
  ["and none that takes a probe where one of two accounts is full", [paused, full], [probed], HOUR, HOUR, 0],
  ["and none that takes a probe where a probe goes to the account, too", [of(NOW, HOUR, 0)], [probed], HOUR, HOUR, 0],
  ["and the open one before one that takes a probe", [paused], [probed, quick], HOUR, HOUR, NEVER],
])("requests are late %s", (_, first, second, deadlineMs, lateMs, rescued) => {
  const outlook = outlookOf(first, second, NOW + deadlineMs, NOW);
  expect(outlook).toEqual({ lateBefore: NOW + lateMs, rescued });
});

test("half of its time lies between a request's arrival and its deadline", () => {
  const lane = { lane: "l", ready: 1, bytes: 1, tokens: 1, readySince: 0, deferredUntil: null };
  expect(halfTime({ ...lane, oldestAt: 100, deadlineAt: 300 })).toBe(200);
  expect(halfTime({ ...lane, oldestAt: 100, deadlineAt: null })).toBe(NEVER);
  expect(halfTime({ ...lane, oldestAt: null, deadlineAt: 300 })).toBe(NEVER);
});
