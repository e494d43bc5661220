import { type Clock, rateLimiter } from "batchwise";
import { redisRateLimiter } from "batchwise/limits/redis";
import { describe, expect, test } from "vitest";
import { range } from "../support.ts";
import { type Note, NotingClient, type StepClock, stepClock } from "./kit.ts";

interface Rig {
  readonly clock: StepClock;
  readonly notes: Note[];
  readonly client: (name: string) => NotingClient;
}

/** One call a second, on a clock whose readings are distorted and whose timers are right. */
function rig(distort: (now: number) => number): Rig {
  const clock = stepClock();
  const distorted: Clock = { ...clock, now: () => distort(clock.now()) };
  const limiter = rateLimiter({ callsPerMinute: 60, costPerMinute: 60_000, clock: distorted });
  const notes: Note[] = [];
  return { clock, notes, client: (name) => new NotingClient(name, 1, { limiter, clock, notes }) };
}

test("a limiter in Redis whose clock throws now and then goes on", async () => {
  let isBroken = false;
  const steps = stepClock();
  const now = (): number => {
    isBroken = !isBroken;
    if (isBroken) throw new Error("no time");
    return steps.now();
  };
  const client = { call: async () => [1, "1", 1, "1700000000000", "0"] };
  const limiter = redisRateLimiter({ client, key: "clocks", callsPerMinute: 60, clock: { ...steps, now } });
  for (const _ of range(6)) {
    limiter.hold(1);
    expect(await limiter.reserve({ retry: () => {} }, 1)).toEqual({ granted: true, cost: 1 });
  }
});

describe("a limiter whose clock", () => {
  test("is never a number counts the delays of its timers", () => {
    const { clock, notes, client } = rig(() => Number.NaN);
    for (const index of range(5)) client(`${index}`).ask();
    clock.advance(4_000);
    expect(notes.map(({ at }) => at)).toEqual([0, 1_000, 2_000, 3_000, 4_000]);
    expect(clock.timers).toBe(0);
  });

  test("stops being a number for a while continues, and grants no more for it", () => {
    const { clock, notes, client } = rig((now) => (now >= 1_500 && now < 3_500 ? Number.NaN : now));
    for (const index of range(8)) client(`${index}`).ask();
    clock.advance(7_000);
    expect(notes.map(({ at }) => at)).toEqual(range(8).map((index) => index * 1_000));
  });

  test("was no number at one question counts the whole time at the next", () => {
    let isBroken = false;
    const { clock, notes, client } = rig((now) => (isBroken ? Number.NaN : now));
    client("a").ask();
    clock.advance(400);
    isBroken = true;
    const waiting = client("b");
    waiting.ask();
    clock.advance(599);
    expect(notes).toHaveLength(1);
    isBroken = false;
    clock.advance(1);
    expect(waiting.ask()).toBe(true);
  });

  test.each([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])("is %s at times continues", (reading) => {
    const { clock, notes, client } = rig((now) => (now === 1_000 ? reading : now));
    for (const index of range(4)) client(`${index}`).ask();
    clock.advance(3_000);
    expect(notes.map(({ at }) => at)).toEqual([0, 1_000, 2_000, 3_000]);
  });

  test("goes back an hour waits no longer than before", () => {
    const { clock, notes, client } = rig((now) => (now < 1_500 ? now : now - 3_600_000));
    for (const index of range(4)) client(`${index}`).ask();
    clock.advance(3_000);
    expect(notes).toHaveLength(4);
  });

  test("goes back between two questions counts that time as none", () => {
    let shiftMs = 0;
    const { clock, notes, client } = rig((now) => now + shiftMs);
    client("a").ask();
    clock.advance(500);
    shiftMs = -10_000;
    client("b").ask();
    expect(notes).toHaveLength(1);
    clock.advance(1_000);
    expect(notes).toHaveLength(2);
  });

  test.each([1e6, 1e12, 1e15])("jumps %d ms ahead grants one full bucket and no more", (jumpMs) => {
    let shiftMs = 0;
    const { clock, notes, client } = rig((now) => now + shiftMs);
    client("before").ask();
    shiftMs = jumpMs;
    const asked = range(10).map((index) => client(`${index}`).ask());
    expect(asked.filter(Boolean)).toHaveLength(1);
    clock.advance(3_000);
    expect(notes).toHaveLength(5);
  });

  test("jumps ahead while clients wait serves them when their timer fires", () => {
    const { clock, notes, client } = rig((now) => (now < 500 ? now : now + 1e9));
    for (const index of range(4)) client(`${index}`).ask();
    clock.advance(3_000);
    expect(notes.map(({ at }) => at)).toEqual([0, 1_000, 2_000, 3_000]);
  });

  test("has timers that fire early grants nothing before its time", () => {
    const clock = stepClock();
    const early: Clock = { ...clock, setTimeout: (callback, delayMs) => clock.setTimeout(callback, delayMs - 0.9) };
    const limiter = rateLimiter({ callsPerMinute: 60, clock: early });
    const notes: Note[] = [];
    for (const index of range(4)) new NotingClient(`${index}`, 0, { limiter, clock, notes }).ask();
    clock.advance(3_100);
    expect(notes).toHaveLength(4);
    for (const [index, { at }] of notes.entries()) expect(at).toBeGreaterThan(index * 1_000 - 1e-6);
  });

  test.each([1, 10, 1_000])("stands still counts the delays of its timers, at one call in %d ms", (everyMs) => {
    const clock = stepClock();
    const limiter = rateLimiter({ callsPerMinute: 60_000 / everyMs, burstMs: 1, clock: { ...clock, now: () => 5 } });
    const notes: Note[] = [];
    for (const index of range(5)) new NotingClient(`${index}`, 0, { limiter, clock, notes }).ask();
    clock.advance(20 * everyMs);
    expect(notes).toHaveLength(5);
    expect(clock.timers).toBe(0);
  });

  test.each(["the first reading", "a timer"])("throws at %s continues, and grants no more for it", (when) => {
    let isBroken = when === "the first reading";
    const { clock, notes, client } = rig((now) => {
      if (now > 1_500) isBroken = false;
      if (isBroken) throw new Error("The clock cannot be read.");
      return now;
    });
    for (const index of range(4)) client(`${index}`).ask();
    if (when === "a timer") isBroken = true;
    clock.advance(3_000);
    expect(notes.map(({ at }) => at)).toEqual([0, 1_000, 2_000, 3_000]);
  });

  test("fires each timer twice does not set more and more of them", () => {
    const clock = stepClock();
    const twice: Clock = {
      ...clock,
      setTimeout: (callback, delayMs) => {
        clock.setTimeout(callback, delayMs + 3);
        return clock.setTimeout(callback, delayMs);
      },
    };
    const limiter = rateLimiter({ callsPerMinute: 60, clock: twice });
    const notes: Note[] = [];
    for (const index of range(10)) new NotingClient(`${index}`, 0, { limiter, clock, notes }).ask();
    clock.advance(10_000);
    expect(notes.map(({ at }) => at)).toEqual(range(10).map((index) => index * 1_000));
    expect(clock.set).toBeLessThan(50);
  });

  test("cannot hold a timer as long as the wait takes several", () => {
    const clock = stepClock();
    const delays: number[] = [];
    const noting: Clock = {
      ...clock,
      setTimeout: (callback, delayMs) => {
        delays.push(delayMs);
        return clock.setTimeout(callback, delayMs);
      },
    };
    // One call in 100 days.
    const limiter = rateLimiter({ callsPerMinute: 1 / 1_440 / 100, clock: noting });
    const notes: Note[] = [];
    const of = { limiter, clock, notes };
    for (const name of ["a", "b"]) new NotingClient(name, 0, of).ask();
    clock.advance(100 * 86_400_000);
    expect(notes).toHaveLength(2);
    expect(Math.max(...delays)).toBeLessThan(2 ** 31);
  });
});
