import { describe, expect, test } from "vitest";
import { median, poissonArrivals, quantile, seededRandom, shuffled } from "./numbers.ts";

describe("medians and quantiles", () => {
  test("the median is the middle value, or the mean of the two in the middle", () => {
    expect(median([5, 1, 3])).toBe(3);
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  test("a quantile is the value of the nearest rank", () => {
    const values = [40, 10, 30, 20];
    expect([0, 0.25, 0.5, 0.99, 1].map((at) => quantile(values, at))).toEqual([10, 10, 20, 40, 40]);
  });

  test("of nothing both are NaN", () => {
    expect([median([]), quantile([], 0.5)]).toEqual([Number.NaN, Number.NaN]);
  });
});

describe("seeded chance", () => {
  test("one seed gives the same numbers again, another seed others", () => {
    const take = (seed: number): number[] => Array.from({ length: 5 }, seededRandom(seed));
    expect(take(1)).toEqual(take(1));
    expect(take(1)).not.toEqual(take(2));
  });

  test("a shuffled list has the same values in another order", () => {
    const values = Array.from({ length: 20 }, (_, at) => at);
    const mixed = shuffled(values, seededRandom(1));
    expect(mixed).not.toEqual(values);
    expect([...mixed].sort((left, right) => left - right)).toEqual(values);
  });

  test("arrivals rise, lie within the time, and come about as often as configured", () => {
    const arrivals = poissonArrivals(1_000, 10_000, 1);
    expect(arrivals).toEqual(arrivals.toSorted());
    expect(arrivals.at(-1)).toBeLessThan(10_000);
    expect(Math.abs(arrivals.length - 10_000)).toBeLessThan(500);
  });
});
