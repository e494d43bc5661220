import { describe, expect, test } from "vitest";
import { RateMeter } from "../../src/models/rate-meter.ts";

describe("a rate meter", () => {
  test("gives the mean of the last ten seconds under a steady load", () => {
    let now = 0;
    const meter = new RateMeter(() => now);
    for (; now < 60_000; now += 100) meter.add(5);
    expect(meter.perSecond()).toBeCloseTo(50, 0);
  });

  test("counts only the time since the start while that is short", () => {
    let now = 7_300;
    const meter = new RateMeter(() => now);
    for (let step = 0; step < 20; step += 1) {
      meter.add(1);
      now += 100;
    }
    expect(meter.perSecond()).toBeCloseTo(10, 5);
  });

  test("falls to nothing within the window after the last event, without a call in between", () => {
    let now = 0;
    const meter = new RateMeter(() => now);
    meter.add(1000);
    now = 5_000;
    expect(meter.perSecond()).toBe(200);
    now = 11_000;
    expect(meter.perSecond()).toBe(0);
    now = 500_000;
    expect(meter.perSecond()).toBe(0);
  });
});
