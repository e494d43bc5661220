// The pauses between deliveries, as a table.

import { expect, test } from "vitest";
import { pauseAfterFailure } from "../../../../src/dispatch/requests/outcomes/delivery-policy.ts";

const PAUSES = { backoffMs: 30_000, maxBackoffMs: 3_600_000 };
const HOUR = 3_600_000;

test.each([
  ["callback", 1, 30_000],
  ["callback", 8, HOUR],
  ["callback", 12, HOUR],
  ["callback", 5_000, HOUR],
  ["webhook", 1, 30_000],
  ["webhook", 2, 60_000],
  ["webhook", 11, 30_000 * 2 ** 10],
  ["webhook", 12, null],
  ["webhook", 13, 30_000],
  ["webhook", 24, null],
] as const)("after a failure of the %s, try %i, the pause is %s", (sink, attempt, pause) => {
  expect(pauseAfterFailure(sink, attempt, PAUSES)).toBe(pause);
});

test("the pauses of a webhook are never longer than half a day", () => {
  expect(pauseAfterFailure("webhook", 11, { backoffMs: HOUR, maxBackoffMs: HOUR })).toBe(12 * HOUR);
});
