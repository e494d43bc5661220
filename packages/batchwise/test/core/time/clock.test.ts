import { virtualClock } from "batchwise/testing";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Clock, SteadyClock, systemClock } from "../../../src/core/time/clock.ts";

/** A clock with these readings. */
function clockReading(readings: Iterator<number>): Clock {
  return {
    now: () => readings.next().value as number,
    setTimeout: () => undefined,
    clearTimeout: () => {},
  };
}

function steady(readings: readonly number[]): SteadyClock {
  return new SteadyClock(clockReading(readings.values()), (callback) => callback());
}

const wrong = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY] as const;
const reading = fc.oneof(
  { arbitrary: fc.integer({ min: -1_000, max: 1_000 }), weight: 4 },
  { arbitrary: fc.constantFrom(...wrong), weight: 1 },
);

afterEach(() => {
  vi.useRealTimers();
});

describe("a steady clock", () => {
  test("is finite, never goes back, and counts the time between two good readings exactly", () => {
    fc.assert(
      fc.property(fc.array(reading, { minLength: 2, maxLength: 60, size: "max" }), (readings) => {
        const clock = steady(readings);
        let last: number | undefined;
        for (const [index, raw] of readings.slice(1).entries()) {
          const before = readings[index] as number;
          const now = clock.now();
          expect(Number.isFinite(now)).toBe(true);
          if (last !== undefined) {
            expect(now).toBeGreaterThanOrEqual(last);
            if (!Number.isFinite(raw)) expect(now).toBe(last);
            else if (Number.isFinite(before)) expect(now - last).toBe(Math.max(0, raw - before));
          }
          last = now;
        }
      }),
      { numRuns: 150 },
    );
  });

  test("counts the time that has passed since the last good reading, once the clock reads right again", () => {
    const clock = steady([100, 110, Number.NaN, Number.POSITIVE_INFINITY, 140]);
    expect([clock.now(), clock.now(), clock.now(), clock.now()]).toEqual([110, 110, 110, 140]);
  });

  test("stands still for a reading that throws, also the first one", () => {
    const readings = [null, null, 20, null, 35];
    let next = 0;
    const now = (): number => {
      const raw = readings[next];
      next += 1;
      if (raw === null || raw === undefined) throw new Error("no time");
      return raw;
    };
    const clock = new SteadyClock({ ...clockReading([].values()), now }, (callback) => callback());
    expect([clock.now(), clock.now(), clock.now(), clock.now()]).toEqual([0, 20, 20, 35]);
  });

  test.each(wrong)("starts at 0 where its first reading is %d", (first) => {
    expect(steady([first, first]).now()).toBe(0);
  });

  test("reports times of the injected clock, also after that one stepped back", () => {
    const clock = steady([1_000, 1_000, 10, 25]);
    clock.now();
    clock.now();
    expect(clock.toUserTime(clock.now())).toBe(25);
  });

  test("sets timers of the clock under it in the context that it was given", async () => {
    const under = virtualClock();
    let depth = 0;
    const depths: number[] = [];
    const setTimeout = (callback: () => void, delayMs: number): unknown => {
      depths.push(depth);
      return under.setTimeout(callback, delayMs);
    };
    const clock = new SteadyClock({ ...under, now: () => 0, setTimeout }, (callback) => {
      depth += 1;
      const returned = callback();
      depth -= 1;
      return returned;
    });
    const handle = clock.setTimeout(() => {}, 10);
    under.clearTimeout(handle);
    expect([depths, under.timers]).toEqual([[1], 0]);
  });

  test("continues where fake timers are switched on, moved and switched off", () => {
    const clock = new SteadyClock(systemClock, (callback) => callback());
    const before = clock.now();
    vi.useFakeTimers({ now: 0 });
    const faked = clock.now();
    vi.advanceTimersByTime(1_000);
    expect(faked).toBeGreaterThanOrEqual(before);
    expect(clock.now()).toBe(faked + 1_000);
    vi.useRealTimers();
    expect(clock.now()).toBeGreaterThanOrEqual(faked + 1_000);
    expect(clock.now()).toBeLessThan(faked + 61_000);
  });
});
