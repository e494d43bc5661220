import fc from "fast-check";
import { expect, test } from "vitest";
import { RunTimes } from "../../../src/core/policy/run-times.ts";

test("a batch has to go 1.25 times the 95th percentile of the last 64 runs before its deadline, and a millisecond", () => {
  const runs = fc.array(fc.oneof(fc.nat(1_000), fc.double({ min: 0, max: 1e6, noNaN: true })), {
    minLength: 1,
    maxLength: 200,
  });
  fc.assert(
    fc.property(runs, fc.boolean(), (list, asksInBetween) => {
      const times = new RunTimes();
      for (const runMs of list) {
        times.record(runMs);
        if (asksInBetween) expect(times.leadMs).toBeGreaterThanOrEqual(1);
      }
      const last = list.slice(-64).toSorted((a, b) => a - b);
      const p95 = last[Math.ceil(0.95 * last.length) - 1] as number;
      expect(times.leadMs).toBeCloseTo(1.25 * p95 + 1, 6);
    }),
  );
});

test("the lead is unknown until a first batch has ended", () => {
  const times = new RunTimes();
  expect(times.leadMs).toBeUndefined();
  times.record(0);
  expect(times.leadMs).toBe(1);
});
