// Table: when a batch that does not end is reported.

import { describe, expect, test } from "vitest";
import { isStuckSince } from "../../../src/dispatch/batches/stuck.ts";
import { batchRow, SEALED_AT } from "../support/rows.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const running = batchRow({ state: "running", submitStartedAt: SEALED_AT + 10 * HOUR });
const week = { ...running, expiresAt: SEALED_AT + 10 * HOUR + 7 * DAY };
const sealed = batchRow({ state: "waiting_capacity", submitStartedAt: SEALED_AT + 10 * HOUR });

describe("a batch", () => {
  test.each([
    ["that has waited 10 h and run 25 h is not stuck", running, 34, 35, false],
    ["that has run 26 h is stuck", running, 35, 36, true],
    ["that was told of is not told of again an hour later", running, 36, 37, false],
    ["is told of again a day later", running, 59, 60, true],
    ["is told of once where nobody has looked for days", running, 20, 200, true],
    ["that has waited 26 h for its account is stuck", sealed, 25, 26, true],
    ["whose provider gave it a week is not stuck after a day", week, 35, 36, false],
    ["whose provider gave it a week is stuck two hours after that", week, 179, 181, true],
  ] as const)("%s", (_name, batch, before, now, expected) => {
    expect(isStuckSince(batch, SEALED_AT + before * HOUR, SEALED_AT + now * HOUR, 26 * HOUR)).toBe(expected);
  });

  test("that is polled every seven minutes is reported once a day, however the days fall", () => {
    let told = 0;
    for (let at = 0; at < 10 * DAY; at += 420_000) {
      if (isStuckSince(running, SEALED_AT + at, SEALED_AT + at + 420_000, 26 * HOUR)) told += 1;
    }
    expect(told).toBe(9);
  });
});
