import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { Alarm, type Clock } from "../../src/core/time/clock.ts";

interface FakeTimer {
  readonly delayMs: number;
  readonly callback: () => void;
}

/** A clock whose timers ring when the test says so, early if it likes. */
class HandClock implements Clock {
  time = 0;
  timer: FakeTimer | undefined;
  set = 0;

  now(): number {
    return this.time;
  }

  setTimeout(callback: () => void, delayMs: number): FakeTimer {
    this.set += 1;
    this.timer = { callback, delayMs };
    return this.timer;
  }

  clearTimeout(timer: unknown): void {
    if (this.timer === timer) this.timer = undefined;
  }

  ringAt(time: number): void {
    const { timer } = this;
    this.time = time;
    this.timer = undefined;
    timer?.callback();
  }
}

function alarmOn(clock: Clock): { alarm: Alarm; rings: number[] } {
  const rings: number[] = [];
  return { alarm: new Alarm(clock, () => rings.push(clock.now())), rings };
}

describe("an alarm", () => {
  test("never rings early, though the platform's timer does", () => {
    const clock = new HandClock();
    const { alarm, rings } = alarmOn(clock);
    alarm.set(10, 0);
    clock.ringAt(9.2);
    expect(rings).toEqual([]);
    expect(clock.timer?.delayMs).toBe(1);
    clock.ringAt(10.1);
    expect(rings).toEqual([10.1]);
  });

  test("rings once", async () => {
    const clock = virtualClock();
    const { alarm, rings } = alarmOn(clock);
    alarm.set(10, 0);
    await clock.advance(100);
    expect(rings).toEqual([10]);
    expect(clock.timers).toBe(0);
  });

  test("moves earlier with a new timer and later without one", () => {
    const clock = new HandClock();
    const { alarm, rings } = alarmOn(clock);
    alarm.set(50, 0);
    alarm.set(20, 0);
    expect(clock.set).toBe(2);
    expect(clock.timer?.delayMs).toBe(20);
    alarm.set(80, 0);
    alarm.set(90, 0);
    expect(clock.set).toBe(2);
    clock.ringAt(20);
    expect(rings).toEqual([]);
    clock.ringAt(90);
    expect(rings).toEqual([90]);
  });

  test("holds no timer when it is turned off", () => {
    const clock = new HandClock();
    const { alarm, rings } = alarmOn(clock);
    alarm.set(50, 0);
    alarm.clear();
    expect(clock.timer).toBeUndefined();
    alarm.set(50, 0);
    alarm.set(Number.POSITIVE_INFINITY, 0);
    expect(clock.timer).toBeUndefined();
    expect(rings).toEqual([]);
  });

  test("can be set again from its own ring", async () => {
    const clock = virtualClock();
    const rings: number[] = [];
    const alarm = new Alarm(clock, () => {
      rings.push(clock.now());
      if (rings.length < 3) alarm.set(clock.now() + 5, clock.now());
    });
    alarm.set(5, 0);
    await clock.runAll();
    expect(rings).toEqual([5, 10, 15]);
  });

  test("rings at once for a time that has passed", async () => {
    const clock = virtualClock(100);
    const { alarm, rings } = alarmOn(clock);
    alarm.set(40, 100);
    await clock.advance(0);
    expect(rings).toEqual([100]);
  });

  test("waits longer than a platform's timer can", () => {
    const clock = new HandClock();
    const { alarm, rings } = alarmOn(clock);
    const month = 31 * 86_400_000;
    alarm.set(month, 0);
    expect(clock.timer?.delayMs).toBe(2 ** 31 - 1);
    clock.ringAt(2 ** 31 - 1);
    expect(rings).toEqual([]);
    expect(clock.timer?.delayMs).toBe(month - (2 ** 31 - 1));
    clock.ringAt(month);
    expect(rings).toEqual([month]);
  });
});
