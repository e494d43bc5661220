import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Histogram } from "../../src/core/stats/histogram.ts";

/** The nearest-rank quantile of a list. */
function exact(list: readonly number[], share: number): number {
  return list.toSorted((a, b) => a - b)[Math.ceil(share * list.length) - 1] as number;
}

describe("a histogram", () => {
  test("is all zeros while nothing was recorded", () => {
    expect(new Histogram().quantiles()).toEqual({ p50: 0, p95: 0, p99: 0, max: 0 });
  });

  test("is within 1.6 % of the true quantiles above 32 µs, and within a microsecond below", () => {
    const duration = fc.double({ min: 0, max: 2_000_000, noNaN: true });
    fc.assert(
      fc.property(fc.array(duration, { minLength: 1, maxLength: 300 }), (durations) => {
        const histogram = new Histogram();
        for (const ms of durations) histogram.record(ms, 1);
        const { p50, p95, p99, max } = histogram.quantiles();
        expect(max).toBe(Math.max(...durations));
        for (const [share, found] of [
          [0.5, p50],
          [0.95, p95],
          [0.99, p99],
        ] as const) {
          const truth = exact(durations, share);
          expect(Math.abs(found - truth)).toBeLessThanOrEqual(Math.max(0.001, truth * 0.016));
        }
      }),
    );
  });

  test("counts an observation as often as it is told", () => {
    const histogram = new Histogram();
    histogram.record(1, 98);
    histogram.record(100, 2);
    const { p50, p95, p99, max } = histogram.quantiles();
    expect([p50, p95]).toEqual([expect.closeTo(1, 1), expect.closeTo(1, 1)]);
    expect(p99).toBeGreaterThan(98);
    expect(max).toBe(100);
  });

  test("holds the longest duration exactly and puts all above 36 minutes together", () => {
    const histogram = new Histogram();
    histogram.record(86_400_000, 1);
    expect(histogram.quantiles().max).toBe(86_400_000);
    expect(histogram.quantiles().p50).toBeGreaterThan(2_000_000);
  });

  test.each([0, -5, Number.NaN])("counts %d as no time at all", (ms) => {
    const histogram = new Histogram();
    histogram.record(ms, 1);
    expect(histogram.quantiles()).toEqual({ p50: 0, p95: 0, p99: 0, max: 0 });
  });

  test("gives out frozen quantiles", () => {
    expect(Object.isFrozen(new Histogram().quantiles())).toBe(true);
  });
});
