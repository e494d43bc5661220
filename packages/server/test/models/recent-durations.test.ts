import { describe, expect, test } from "vitest";
import { RecentDurations } from "../../src/models/recent-durations.ts";

describe("recent durations", () => {
  test("give the quantiles of the last ten seconds", () => {
    let now = 0;
    const durations = new RecentDurations(() => now);
    expect(durations.quantiles()).toEqual({ p50: null, p95: null });
    for (let value = 100; value > 0; value -= 1) durations.add(value);
    expect(durations.quantiles()).toEqual({ p50: 50, p95: 95 });
    now = 9_000;
    durations.add(7);
    now = 12_000;
    expect(durations.quantiles()).toEqual({ p50: 7, p95: 7 });
    now = 20_000;
    expect(durations.quantiles()).toEqual({ p50: null, p95: null });
  });

  test("forget the oldest when there are more than they hold", () => {
    const durations = new RecentDurations(() => 0);
    for (let index = 0; index < 3_000; index += 1) durations.add(index < 2_000 ? 1 : 9);
    expect(durations.quantiles()).toEqual({ p50: 9, p95: 9 });
  });
});
