// When a step of the wall clock is believed, as a table of looks at both clocks.

import { expect, test } from "vitest";
import { lookAtClock, type WallClock } from "../../../src/dispatch/runtime/wall-clock.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Looks at [monotonic minutes, offset shown], and the offset believed after each. */
const believed = (looks: readonly (readonly [number, number])[]): number[] => {
  let known: WallClock = { offset: 0, doubt: null };
  return looks.map(([minutes, shown]) => {
    known = lookAtClock(known, shown, minutes * MINUTE);
    return known.offset;
  });
};

test.each([
  [
    "drift is followed",
    [
      [1, 20_000],
      [2, 70_000],
      [3, 120_000],
    ],
    [20_000, 70_000, 120_000],
  ],
  [
    "a step that is taken back leaves no trace",
    [
      [1, DAY],
      [3, DAY],
      [4, 5],
      [20, 5],
    ],
    [0, 0, 5, 5],
  ],
  [
    "a step that has lasted ten minutes is believed",
    [
      [1, DAY],
      [10, DAY],
      [11, DAY + 50],
    ],
    [0, 0, DAY + 50],
  ],
  [
    "a step back is believed no sooner",
    [
      [1, -DAY],
      [10.9, -DAY],
      [11, -DAY],
    ],
    [0, 0, -DAY],
  ],
  [
    "another step begins anew",
    [
      [1, DAY],
      [10, 2 * DAY],
      [11, 2 * DAY],
      [20, 2 * DAY],
    ],
    [0, 0, 0, 2 * DAY],
  ],
  [
    "steps that come back in between begin anew",
    [
      [1, DAY],
      [2, 0],
      [5, DAY],
      [12, DAY],
      [15, DAY],
    ],
    [0, 0, 0, 0, DAY],
  ],
] as const)("%s", (_name, looks, offsets) => {
  expect(believed(looks)).toEqual(offsets);
});
