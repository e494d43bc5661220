import { expect, test } from "vitest";
import { RunTimes } from "../../../src/core/policy/run-times.ts";
import { range } from "../../support.ts";

test("a batch has to go 1.25 times the 95th percentile of the last 64 runs before its deadline, and a millisecond", () => {
  for (const step of [1, 37, 150]) {
    const times = new RunTimes();
    const runs: number[] = [];
    for (const index of range(300)) {
      const runMs = (index * step) % 211;
      runs.push(runMs);
      times.record(runMs);
      const last = runs.slice(-64).toSorted((a, b) => a - b);
      const p95 = last[Math.ceil(0.95 * last.length) - 1] as number;
      expect(times.leadMs).toBe(1.25 * p95 + 1);
    }
  }
});

test("the lead is unknown until a first batch has ended", () => {
  const times = new RunTimes();
  expect(times.leadMs).toBeUndefined();
  times.record(0);
  expect(times.leadMs).toBe(1);
});
