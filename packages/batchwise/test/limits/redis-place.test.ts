// The waiting time that a process reports when it is punctual, late, served and gone.

import { expect, test } from "vitest";
import { Place } from "../../src/limits/redis/place.ts";

test("a punctual process waits since its first request, and starts again after it was served", () => {
  const place = new Place();
  expect(place.ask(1_000)).toBe(0);
  place.wait(1_000, 400);
  expect(place.ask(1_410)).toBe(410);
  place.granted(1_411, 400);
  expect(place.ask(2_000)).toBe(0);
});

test("a process that came late is that far behind in its next wait, a second at most, while others wait", () => {
  for (const [lateMs, othersWaitMs, behindMs] of [
    [30, 400, 0],
    [650, 400, 600],
    [9_000, 400, 1_000],
    [650, 0, 0],
  ] as const) {
    const place = new Place();
    place.ask(0);
    place.wait(0, 100);
    place.ask(100 + lateMs);
    place.granted(100 + lateMs, othersWaitMs);
    expect(place.ask(10_000)).toBe(behindMs);
  }
});

test("a wait shorter than the others' is subtracted from its arrears", () => {
  const place = new Place();
  place.ask(0);
  place.wait(0, 0);
  place.ask(750);
  place.granted(750, 400);
  expect(place.ask(750)).toBe(700);
  place.granted(800, 400);
  expect(place.ask(800)).toBe(350);
  place.granted(850, 400);
  expect(place.ask(850)).toBe(0);
});

test("a process that withdraws has no arrears", () => {
  const place = new Place();
  place.ask(0);
  place.wait(0, 0);
  place.ask(700);
  place.leave();
  expect(place.ask(800)).toBe(0);
});

test.each([Number.NaN, -5_000, Number.POSITIVE_INFINITY])("by a clock that shows %s it begins to wait now", (now) => {
  const place = new Place();
  place.ask(0);
  place.wait(0, 100);
  expect(place.ask(now)).toBe(0);
});
