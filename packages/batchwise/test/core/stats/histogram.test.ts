import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Histogram } from "../../../src/core/stats/histogram.ts";

const MICROSECOND = 0.001;
const zeros = { mean: 0, p50: 0, p95: 0, p99: 0, max: 0 };

/** The nearest-rank quantile of a list. */
function exact(list: readonly number[], share: number): number {
  return list.toSorted((a, b) => a - b)[Math.ceil(share * list.length) - 1] as number;
}

function histogramOf(unit: number, values: readonly number[]): Histogram {
  const histogram = new Histogram(unit);
  for (const value of values) histogram.record(value, 1);
  return histogram;
}

/** Compares all results of a histogram with the list itself. */
function expectQuantiles(unit: number, values: readonly number[], tolerance: (truth: number) => number): void {
  const { mean, p50, p95, p99, max } = histogramOf(unit, values).quantiles();
  expect(max).toBe(Math.max(...values));
  const sum = values.reduce((total, value) => total + value, 0);
  expect(Math.abs(mean - sum / values.length)).toBeLessThanOrEqual(1e-9 * mean);
  for (const [share, found] of [[0.5, p50] as const, [0.95, p95] as const, [0.99, p99] as const]) {
    const truth = exact(values, share);
    expect(Math.abs(found - truth)).toBeLessThanOrEqual(tolerance(truth));
  }
}

function lists(value: fc.Arbitrary<number>): fc.Arbitrary<number[]> {
  return fc.array(value, { minLength: 1, maxLength: 300, size: "max" });
}

/** Values of any magnitude from `min` to `max`. */
function ofAnySize(min: number, max: number): fc.Arbitrary<number> {
  return fc.double({ min: Math.log(min), max: Math.log(max), noNaN: true }).map(Math.exp);
}

describe("a histogram", () => {
  test("of milliseconds is within 1.6 % of the true quantiles, and within a microsecond of the smallest", () => {
    const duration = fc.oneof(fc.constant(0), ofAnySize(1e-4, 1e5), fc.double({ min: 0, max: 2e6, noNaN: true }));
    fc.assert(
      fc.property(lists(duration), (values) => {
        expectQuantiles(MICROSECOND, values, (truth) => Math.max(MICROSECOND, truth * 0.016));
      }),
      { numRuns: 200 },
    );
  });

  test("of costs is within 1.6 % also where they are bytes by the billion", () => {
    fc.assert(
      fc.property(lists(ofAnySize(1e6, 1e15)), (values) => {
        expectQuantiles(MICROSECOND, values, (truth) => truth * 0.016);
      }),
      { numRuns: 200 },
    );
  });

  test("of counts is exact below 64, and within 1.6 % above", () => {
    fc.assert(
      fc.property(lists(fc.oneof(fc.nat(63), fc.nat(63), fc.nat(100_000))), (values) => {
        expectQuantiles(1, values, (truth) => (truth < 64 ? 0 : truth * 0.016));
        for (const share of Object.values(histogramOf(1, values).quantiles()).slice(1)) {
          expect(Number.isInteger(share)).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("counts an observation as often as it is recorded", () => {
    const value = fc.tuple(fc.nat(50), fc.integer({ min: 1, max: 20 }));
    fc.assert(
      fc.property(fc.array(value, { maxLength: 40, size: "max" }), (list) => {
        const together = new Histogram(1);
        for (const [of, times] of list) together.record(of, times);
        const single = histogramOf(
          1,
          list.flatMap(([of, times]) => new Array<number>(times).fill(of)),
        );
        expect(together.quantiles()).toEqual(single.quantiles());
      }),
    );
  });

  test("is all zeros while nothing was recorded, and frozen", () => {
    expect(new Histogram(1).quantiles()).toEqual(zeros);
    expect(Object.isFrozen(new Histogram(1).quantiles())).toBe(true);
  });

  test.each([0, -5, Number.NaN])("counts %d as nothing", (value) => {
    const histogram = histogramOf(MICROSECOND, [value, value, value, 8]);
    expect(histogram.quantiles()).toMatchObject({ mean: 2, p50: expect.closeTo(0, 2), max: 8 });
    expect(histogramOf(MICROSECOND, [value]).quantiles()).toEqual(zeros);
  });

  test.each([2 ** 31, 1e30, Number.MAX_VALUE, Number.POSITIVE_INFINITY])("takes %d", (value) => {
    for (const unit of [MICROSECOND, 1]) {
      const { p50, max } = histogramOf(unit, [value]).quantiles();
      expect(max).toBe(value);
      expect(p50).toBeGreaterThanOrEqual(Math.min(value, 1e300) * 0.984);
    }
  });
});
