import { virtualClock } from "batchwise/testing";
import { describe, expect, test } from "vitest";
import { reasonOf } from "../support.ts";

const nextTick = (callback: () => void): void => {
  queueMicrotask(() => process.nextTick(callback));
};

describe("`setImmediate` of the virtual clock", () => {
  test("runs nothing until the test settles", async () => {
    const clock = virtualClock();
    const ran: string[] = [];
    clock.setImmediate(() => ran.push("immediate"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(ran).toEqual([]);
    await clock.settle();
    expect(ran).toEqual(["immediate"]);
    await clock.settle();
    expect(ran).toEqual(["immediate"]);
  });

  test("runs after the promise jobs and turns that are due, in the order of the calls", async () => {
    const clock = virtualClock();
    const ran: string[] = [];
    clock.setImmediate(() => ran.push("immediate 1"));
    clock.setImmediate(() => ran.push("immediate 2"));
    nextTick(() => ran.push("turn"));
    queueMicrotask(() => ran.push("job"));
    await clock.settle();
    expect(ran).toEqual(["job", "turn", "immediate 1", "immediate 2"]);
  });

  test("runs each callback's own jobs and turns before the next one, and runs the ones it adds", async () => {
    const clock = virtualClock();
    const ran: string[] = [];
    clock.setImmediate(() => {
      nextTick(() => ran.push("turn of 1"));
      clock.setImmediate(() => ran.push("added by 1"));
    });
    clock.setImmediate(() => ran.push("2"));
    await clock.settle();
    expect(ran).toEqual(["turn of 1", "2", "added by 1"]);
  });

  test("runs inside `advance` and `runAll`, before the first timer and after each, while time stands still", async () => {
    for (const move of ["advance", "runAll"] as const) {
      const clock = virtualClock();
      const ran: [string, number][] = [];
      const note = (what: string) => () => ran.push([what, clock.now()]);
      clock.setImmediate(note("first"));
      clock.setTimeout(() => clock.setImmediate(note("of the timer")), 10);
      clock.setTimeout(note("second timer"), 20);
      await clock[move](30);
      expect(ran).toEqual([
        ["first", 0],
        ["of the timer", 10],
        ["second timer", 20],
      ]);
    }
  });

  test("is no timer", async () => {
    const clock = virtualClock();
    clock.setImmediate(() => {});
    expect(clock.timers).toBe(0);
    expect(clock.nextAt).toBe(Number.POSITIVE_INFINITY);
  });

  test("fails a program that polls by it", async () => {
    const clock = virtualClock();
    const poll = (): void => clock.setImmediate(poll);
    poll();
    expect(await reasonOf(clock.settle())).toEqual(
      new Error("More than 100000 immediates ran: the program under test may be polling."),
    );
  });
});

describe("`runAll` of the virtual clock", () => {
  test("rings as many timers as its limit", async () => {
    const clock = virtualClock();
    const rung: number[] = [];
    for (const at of [5, 6]) clock.setTimeout(() => rung.push(at), at);
    await clock.runAll(2);
    expect(rung).toEqual([5, 6]);
    await clock.runAll(0);
    expect(clock.now()).toBe(6);
  });

  test("rejects when one more is left, and does not ring it", async () => {
    const clock = virtualClock();
    const rung: number[] = [];
    for (const at of [5, 6, 7]) clock.setTimeout(() => rung.push(at), at);
    expect(await reasonOf(clock.runAll(2))).toEqual(
      new Error("More than 2 timers rang: the program under test may be polling."),
    );
    expect(rung).toEqual([5, 6]);
  });
});

describe("time of the virtual clock", () => {
  test.each([undefined, Number.NaN, -5, 0])("rings a timer whose delay is %s at once", async (delayMs) => {
    const clock = virtualClock();
    let isRung = false;
    clock.setTimeout(() => {
      isRung = true;
    }, delayMs as number);
    expect(clock.nextAt).toBe(0);
    await clock.advance(0);
    expect([isRung, clock.timers, clock.now()]).toEqual([true, 0, 0]);
  });

  test("never goes back: not by an `advance` that another one overtakes, nor by a negative one", async () => {
    const clock = virtualClock();
    await Promise.all([clock.advance(100), clock.advance(10)]);
    expect(clock.now()).toBe(100);
    for (const ms of [-5, Number.NaN]) await clock.advance(ms);
    expect(clock.now()).toBe(100);
  });
});
