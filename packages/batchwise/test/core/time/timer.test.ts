import { virtualClock } from "batchwise/testing";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Clock, SteadyClock, systemClock, Timer } from "../../../src/core/time/clock.ts";

interface PlatformTimer {
  readonly delayMs: number;
  readonly callback: () => void;
}

/** A clock whose timers fire when the test lets them, also early. */
class HandClock implements Clock {
  time = 0;
  timer: PlatformTimer | undefined;
  set = 0;

  now(): number {
    return this.time;
  }

  setTimeout(callback: () => void, delayMs: number): PlatformTimer {
    this.set += 1;
    this.timer = { callback, delayMs };
    return this.timer;
  }

  clearTimeout(timer: unknown): void {
    if (this.timer === timer) this.timer = undefined;
  }

  fireAt(time: number): void {
    const { timer } = this;
    this.time = time;
    this.timer = undefined;
    timer?.callback();
  }
}

function timerOn(clock: Clock): { timer: Timer; fired: number[] } {
  const fired: number[] = [];
  return { timer: new Timer(clock, () => fired.push(clock.now())), fired };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("a timer", () => {
  test("fires at the time that was set last, once, and holds nothing after that", async () => {
    const step = fc.oneof(
      fc.record({ set: fc.oneof(fc.nat(60), fc.constant(Number.POSITIVE_INFINITY)) }),
      fc.record({ advance: fc.nat(20) }),
      fc.constant("clear" as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25, size: "max" }), async (steps) => {
        const clock = virtualClock();
        const { timer, fired } = timerOn(clock);
        const expected: number[] = [];
        let wanted = Number.POSITIVE_INFINITY;
        const pass = (until: number): void => {
          if (wanted <= until) {
            expected.push(Math.max(wanted, clock.now()));
            wanted = Number.POSITIVE_INFINITY;
          }
        };
        for (const next of steps) {
          if (next === "clear") {
            timer.clear();
            wanted = Number.POSITIVE_INFINITY;
          } else if ("set" in next) {
            timer.set(next.set, clock.now());
            wanted = next.set;
          } else {
            pass(clock.now() + next.advance);
            await clock.advance(next.advance);
          }
          expect(clock.timers).toBe(wanted < Number.POSITIVE_INFINITY ? 1 : 0);
        }
        pass(Number.MAX_SAFE_INTEGER);
        await clock.runAll();
        expect(fired).toEqual(expected);
        expect(clock.timers).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  test("never fires early, though the platform's timer does", () => {
    const clock = new HandClock();
    const { timer, fired } = timerOn(clock);
    timer.set(10, 0);
    clock.fireAt(9.2);
    expect(fired).toEqual([]);
    expect(clock.timer?.delayMs).toBeCloseTo(0.8);
    clock.fireAt(10.1);
    expect(fired).toEqual([10.1]);
  });

  test("moves earlier with a new platform timer and later without one", () => {
    const clock = new HandClock();
    const { timer, fired } = timerOn(clock);
    timer.set(50, 0);
    timer.set(20, 0);
    expect([clock.set, clock.timer?.delayMs]).toEqual([2, 20]);
    for (const at of [20, 80, 90]) timer.set(at, 0);
    expect(clock.set).toBe(2);
    clock.fireAt(20);
    expect(fired).toEqual([]);
    clock.fireAt(90);
    expect(fired).toEqual([90]);
  });

  test("waits longer than a platform timer can", () => {
    const clock = new HandClock();
    const { timer, fired } = timerOn(clock);
    const longest = 2 ** 31 - 1;
    const month = 31 * 86_400_000;
    timer.set(month, 0);
    expect(clock.timer?.delayMs).toBe(longest);
    clock.fireAt(longest);
    expect(fired).toEqual([]);
    expect(clock.timer?.delayMs).toBe(month - longest);
    clock.fireAt(month);
    expect(fired).toEqual([month]);
  });

  test("fires at once for a time that has passed, and can be set again from its own callback", async () => {
    const clock = virtualClock(100);
    const fired: number[] = [];
    const timer = new Timer(clock, () => {
      fired.push(clock.now());
      if (fired.length < 3) timer.set(clock.now() + 5, clock.now());
    });
    timer.set(40, 100);
    await clock.runAll();
    expect(fired).toEqual([100, 105, 110]);
  });

  test("sets one platform timer after the other, and no faster, on a clock that stands still", () => {
    const clock = new HandClock();
    const { timer, fired } = timerOn(clock);
    timer.set(10, 0);
    for (let times = 0; times < 5; times += 1) {
      expect(clock.timer?.delayMs).toBe(10);
      clock.fireAt(0);
    }
    expect(fired).toEqual([]);
    clock.fireAt(11);
    expect(fired).toEqual([11]);
  });

  test("that was cleared does nothing when the platform's timer fires all the same", () => {
    const clock = new HandClock();
    clock.clearTimeout = () => {};
    const { timer, fired } = timerOn(clock);
    timer.set(10, 0);
    timer.clear();
    clock.fireAt(10);
    expect(fired).toEqual([]);
    expect(clock.timer).toBeUndefined();
  });
});

describe("a timer of the platform", () => {
  function platformTimer(): { clock: SteadyClock; timer: Timer; fired: () => number } {
    const clock = new SteadyClock(systemClock, (callback) => callback());
    const callback = vi.fn();
    return { clock, timer: new Timer(clock, callback), fired: () => callback.mock.calls.length };
  }

  test("fires under fake timers when they are moved", () => {
    vi.useFakeTimers();
    const { clock, timer, fired } = platformTimer();
    timer.set(clock.now() + 500, clock.now());
    vi.advanceTimersByTime(499);
    expect(fired()).toBe(0);
    vi.advanceTimersByTime(1);
    expect(fired()).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("that was set under fake timers and lost with them does not keep a later one from firing", () => {
    vi.useFakeTimers();
    const { clock, timer, fired } = platformTimer();
    const at = clock.now() + 500;
    timer.set(at, clock.now());
    vi.useRealTimers();
    vi.useFakeTimers();
    timer.set(at, clock.now());
    vi.advanceTimersByTime(501);
    expect(fired()).toBe(1);
  });
});
