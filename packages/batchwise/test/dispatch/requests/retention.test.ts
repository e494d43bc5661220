// Tables: times and step sizes of pruning.

import { describe, expect, test } from "vitest";
import { cutoffs, nextStep } from "../../../src/dispatch/requests/retention.ts";

const HOUR = 3_600_000;
const NOW = 1_000_000 * HOUR;

describe("the outcomes that retention may remove", () => {
  test.each([
    ["now, and batches after two days", 0, 0, 48],
    ["after an hour, and batches after two days", 1, 1, 48],
    ["after three days, batches too", 72, 72, 72],
  ])("%s", (_name, hours, outcomes, batches) => {
    const before = { before: NOW - outcomes * HOUR, batchesBefore: NOW - batches * HOUR };
    expect(cutoffs(NOW, hours * HOUR, Infinity)).toEqual(before);
    expect(cutoffs(NOW, hours * HOUR, HOUR)).toEqual({ ...before, tombstonesBefore: NOW - HOUR });
  });
});

describe("the next step", () => {
  test.each([
    ["is half of one that took long", 500, 61, 250],
    ["is never less than a hundred", 150, 500, 100],
    ["is twice one that took a moment", 500, 5, 1_000],
    ["is never more than five thousand", 4_000, 0, 5_000],
    ["is as large as one that took as long as it may", 500, 60, 500],
    ["is as large as one that took a third of it", 500, 20, 500],
  ])("%s", (_name, size, tookMs, expected) => {
    expect(nextStep(size, tookMs)).toBe(expected);
  });
});
