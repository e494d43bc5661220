import { expect, test } from "vitest";
import { halfTime, outlookOf, type Prospect } from "../../../src/dispatch/accounts/deadlines.ts";

const NOW = 1_000_000_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NEVER = Number.POSITIVE_INFINITY;

const of = (opensAt: number, turnaroundMs: number): Prospect => ({ opensAt, turnaroundMs, isKnown: true });
const slow = of(NOW, HOUR);
const quick = of(NOW, MINUTE);

test.each<[string, Prospect[], Prospect[], number, number, boolean]>([
  ["of an account that is open, by its turnaround", [slow], [quick], HOUR, HOUR, true],
  ["of one that opens later, from then on", [of(NOW + HOUR, HOUR)], [quick], 3 * HOUR, 2 * HOUR, true],
  ["of one that may open any time, as if it did now", [of(NEVER, HOUR)], [quick], 2 * HOUR, HOUR, true],
  ["of one that is closed and quick, a minute", [of(NEVER, 0)], [quick], 2 * HOUR, MINUTE, true],
  ["of several, by the soonest", [slow, of(NOW, HOUR / 2)], [quick], HOUR, HOUR / 2, true],
  ["and no fallback account that is slower", [slow], [of(NOW, 2 * HOUR)], HOUR, HOUR, false],
  [
    "and a slower one where the account opens too late",
    [of(NOW + HOUR, 0)],
    [of(NOW, 2 * HOUR)],
    HOUR / 2,
    HOUR + MINUTE,
    true,
  ],
  ["and none that is closed", [slow], [of(NOW + 1, 0)], HOUR, HOUR, false],
  ["and the open one of two", [slow], [of(NEVER, 0), quick], HOUR, HOUR, true],
  ["and none that takes only a probe", [slow], [of(NOW, NEVER)], HOUR, HOUR, false],
  ["and one that takes a probe where the account is closed", [of(NEVER, HOUR)], [of(NOW, NEVER)], HOUR, HOUR, true],
])("requests are late %s", (_, first, second, deadlineMs, lateMs, isRescued) => {
  const outlook = outlookOf(first, second, NOW + deadlineMs, NOW);
  expect(outlook).toEqual({ lateBefore: NOW + lateMs, isRescued });
});

test("half of its time lies between a request's arrival and its deadline", () => {
  const lane = { lane: "l", ready: 1, bytes: 1, tokens: 1, readySince: 0, deferredUntil: null };
  expect(halfTime({ ...lane, oldestAt: 100, deadlineAt: 300 })).toBe(200);
  expect(halfTime({ ...lane, oldestAt: 100, deadlineAt: null })).toBe(NEVER);
  expect(halfTime({ ...lane, oldestAt: null, deadlineAt: 300 })).toBe(NEVER);
});
