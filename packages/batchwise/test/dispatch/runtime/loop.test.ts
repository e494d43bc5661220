// The loop under the dispatcher: it turns when woken or when its time has come.

import { describe, expect, test } from "vitest";
import { Loop } from "../../../src/dispatch/runtime/loop.ts";
import { virtualClock } from "../../../src/testing/index.ts";

const NEVER = Number.POSITIVE_INFINITY;

function looped(turn: () => Promise<number>) {
  const time = virtualClock();
  const told: unknown[] = [];
  const loop = new Loop(time, (error) => told.push(error));
  return { time, loop, told, begin: () => loop.start(turn) };
}

describe("a loop", () => {
  test("turns at its start, at the time it returned, and when woken", async () => {
    const at: number[] = [];
    const { time, loop, begin } = looped(async () => {
      at.push(time.now());
      return at.length === 1 ? 100 : NEVER;
    });
    loop.wake();
    await time.advance(10);
    expect(at).toEqual([]);
    begin();
    await time.advance(200);
    loop.wake();
    await time.advance(1);
    loop.wakeAt(300);
    loop.wakeAt(400);
    await time.advance(500);
    expect(at).toEqual([10, 100, 210, 300]);
    expect(time.timers).toBe(0);
  });

  test("keeps the time that it returned, though an earlier turn returns none", async () => {
    const at: number[] = [];
    const { time, loop, begin } = looped(async () => {
      at.push(time.now());
      return NEVER;
    });
    begin();
    loop.wakeAt(300);
    await time.advance(100);
    loop.wake();
    await time.advance(250);
    loop.wakeAt(400);
    await time.advance(500);
    expect(at).toEqual([0, 100, 300, 400]);
    expect(time.timers).toBe(0);
  });

  test("turns once more, not at once, when it is woken while it turns, however often", async () => {
    let running = 0;
    let most = 0;
    let turns = 0;
    const { time, loop, begin } = looped(async () => {
      turns += 1;
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => time.setTimeout(() => resolve(null), 10));
      running -= 1;
      return NEVER;
    });
    begin();
    for (let wakes = 0; wakes < 5; wakes += 1) loop.wake();
    await time.advance(100);
    expect([turns, most]).toEqual([2, 1]);
  });

  test("reports a turn that failed, and turns again, later each time", async () => {
    const at: number[] = [];
    const { time, told, begin } = looped(() => {
      at.push(time.now());
      return at.length < 4 ? Promise.reject(new Error("No.")) : Promise.resolve(NEVER);
    });
    begin();
    await time.advance(10_000);
    expect(at).toEqual([0, 500, 1_500, 3_500]);
    expect(told).toHaveLength(3);
  });

  test("stops after the turn that runs, and never turns again", async () => {
    let turns = 0;
    const { time, loop, begin } = looped(async () => {
      turns += 1;
      await new Promise((resolve) => time.setTimeout(() => resolve(null), 50));
      return 60;
    });
    begin();
    let isStopped = false;
    const stopped = loop.stop().then(() => {
      isStopped = true;
    });
    await time.advance(40);
    expect(isStopped).toBe(false);
    await time.advance(20);
    await stopped;
    loop.wake();
    loop.wakeAt(70);
    await time.advance(100);
    expect([turns, time.timers]).toEqual([1, 0]);
  });
});
