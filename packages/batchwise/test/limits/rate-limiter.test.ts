import { type RateLimiter, type RateLimiterOptions, rateLimiter } from "batchwise";
import { describe, expect, test } from "vitest";
import { range } from "../support.ts";
import { ask, granted, type Note, NotingClient, type StepClock, stepClock } from "./kit.ts";

interface Rig {
  readonly clock: StepClock;
  readonly limiter: RateLimiter;
  readonly notes: Note[];
  /** A client of this name, which requests this cost. */
  readonly client: (name: string, cost?: number) => NotingClient;
}

function rig(options: RateLimiterOptions): Rig {
  const clock = stepClock();
  const limiter = rateLimiter({ clock, ...options });
  const notes: Note[] = [];
  return { clock, limiter, notes, client: (name, cost = 0) => new NotingClient(name, cost, { limiter, clock, notes }) };
}

const someone = { retry: () => {} };

describe("the bucket of calls", () => {
  test("is full at first and holds `burstMs` of its rate", () => {
    const { clock, client, notes } = rig({ callsPerMinute: 120, burstMs: 1_500 });
    for (const name of ["a", "b", "c", "d"]) client(name).ask();
    expect(notes.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    clock.advance(499);
    expect(notes).toHaveLength(3);
    clock.advance(1);
    expect(notes.at(-1)).toEqual({ name: "d", at: 500, cost: 0 });
  });

  test("holds at least one call, however slow the rate", () => {
    const { clock, client, notes } = rig({ callsPerMinute: 0.5 });
    client("a").ask();
    client("b").ask();
    clock.advance(119_999);
    expect(notes).toHaveLength(1);
    clock.advance(1);
    expect(notes).toHaveLength(2);
  });

  test("does not limit the cost", () => {
    const { limiter } = rig({ callsPerMinute: 60 });
    expect(ask(limiter, someone, 1e9)).toEqual({ granted: true, cost: 1e9 });
  });
});

describe("the bucket of cost", () => {
  test("makes a reservation wait until its cost is there", () => {
    const { clock, client, notes } = rig({ costPerMinute: 60_000 });
    client("a", 800).ask();
    client("b", 500).ask();
    clock.advance(299);
    expect(notes).toHaveLength(1);
    clock.advance(1);
    expect(notes.at(-1)).toEqual({ name: "b", at: 300, cost: 500 });
  });

  test("grants its whole content to a larger request, as soon as it is full", () => {
    const { clock, client, notes } = rig({ costPerMinute: 60_000 });
    expect(client("a", 5_000).ask()).toBe(true);
    client("b", 5_000).ask();
    clock.advance(999);
    expect(notes).toHaveLength(1);
    clock.advance(1);
    expect(notes.map(({ at, cost }) => [at, cost])).toEqual([
      [0, 1_000],
      [1_000, 1_000],
    ]);
  });

  test("gets back the unused part of a reservation", () => {
    const { limiter } = rig({ costPerMinute: 60_000 });
    expect(granted(ask(limiter, someone, 1_000))).toBe(1_000);
    limiter.giveBack(0, 400);
    expect(granted(ask(limiter, someone, 400))).toBe(400);
    expect(granted(ask(limiter, someone, 1))).toBeUndefined();
  });

  test("never holds more than its capacity, whatever is given back", () => {
    const { limiter } = rig({ costPerMinute: 60_000, callsPerMinute: 60 });
    ask(limiter, someone, 100);
    limiter.giveBack(1, 100);
    limiter.giveBack(5, 10_000);
    expect(granted(ask(limiter, someone, 9_000))).toBe(1_000);
    expect(granted(ask(limiter, someone, 0))).toBeUndefined();
  });

  test("pays a debt before it grants anything, also to a batch that costs nothing", () => {
    const { clock, client, limiter, notes } = rig({ costPerMinute: 60_000 });
    client("oversize", 3_000).ask();
    limiter.giveBack(0, 1_000 - 3_000);
    client("free", 0).ask();
    clock.advance(1_999);
    expect(notes).toHaveLength(1);
    clock.advance(1);
    expect(notes.at(-1)?.name).toBe("free");
  });

  test("takes a cost that is no number for none", () => {
    const { limiter } = rig({ costPerMinute: 60_000 });
    expect(granted(ask(limiter, someone, Number.NaN))).toBe(0);
    expect(granted(ask(limiter, someone, -5))).toBe(0);
    limiter.giveBack(Number.NaN, Number.NaN);
    limiter.giveBack(Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY);
    expect(granted(ask(limiter, someone, 1_000))).toBe(1_000);
  });
});

describe("both buckets", () => {
  test("have to have enough, and neither is touched while one has not", () => {
    const { clock, client, limiter, notes } = rig({ callsPerMinute: 60, costPerMinute: 60_000 });
    client("a", 100).ask();
    const waiting = client("b", 100);
    waiting.ask();
    clock.advance(500);
    limiter.withdraw(waiting);
    clock.advance(500);
    expect(granted(ask(limiter, someone, 1_000))).toBe(1_000);
    expect(notes).toHaveLength(1);
  });

  test("take Infinity for no limit", () => {
    const { limiter } = rig({ callsPerMinute: Number.POSITIVE_INFINITY, costPerMinute: 60_000 });
    for (const _ of range(1_000)) expect(ask(limiter, someone, 1).granted).toBe(true);
    expect(ask(limiter, someone, 1).granted).toBe(false);
  });
});

describe("clients that share a limiter", () => {
  test("are served in the order of their requests", () => {
    const { clock, client, notes } = rig({ callsPerMinute: 60 });
    for (const index of range(16)) client(`client ${index}`).ask();
    clock.advance(20_000);
    expect(notes.map(({ name, at }) => [name, at])).toEqual(range(16).map((at) => [`client ${at}`, at * 1_000]));
  });

  test("do not overtake one that waits, not even with less", () => {
    const { clock, client, notes } = rig({ costPerMinute: 60_000 });
    client("first", 600).ask();
    client("large", 900).ask();
    expect(client("small", 1).ask()).toBe(false);
    clock.advance(500);
    expect(notes.map(({ name }) => name)).toEqual(["first", "large"]);
    clock.advance(1);
    expect(notes.map(({ name }) => name)).toEqual(["first", "large", "small"]);
  });

  test("keep their place when they request again, with the latest cost", () => {
    const { clock, client, notes } = rig({ costPerMinute: 60_000 });
    client("first", 1_000).ask();
    const growing = client("growing", 100);
    growing.ask();
    client("other", 100).ask();
    growing.cost = 700;
    growing.ask();
    clock.advance(699);
    expect(notes).toHaveLength(1);
    clock.advance(1);
    expect(notes.at(-1)).toEqual({ name: "growing", at: 700, cost: 700 });
    clock.advance(100);
    expect(notes.at(-1)?.name).toBe("other");
  });

  test("continue to wait when their batch has grown by their next request", () => {
    const { clock, client, notes } = rig({ costPerMinute: 60_000 });
    client("first", 1_000).ask();
    const growing = client("growing", 100);
    growing.ask();
    growing.cost = 250;
    clock.advance(249);
    expect(notes).toHaveLength(1);
    clock.advance(1);
    expect(notes.at(-1)).toEqual({ name: "growing", at: 250, cost: 250 });
  });

  test("go at once when they request less again and that is available", () => {
    const { clock, client, notes } = rig({ costPerMinute: 60_000 });
    client("first", 1_000).ask();
    const shrinking = client("shrinking", 900);
    shrinking.ask();
    clock.advance(100);
    shrinking.cost = 100;
    expect(shrinking.ask()).toBe(true);
    expect(notes.at(-1)?.at).toBe(100);
    expect(clock.timers).toBe(0);
  });

  test("make room for the next one when they withdraw", () => {
    const { clock, client, limiter, notes } = rig({ costPerMinute: 60_000 });
    client("first", 1_000).ask();
    const leaving = client("leaving", 1_000);
    leaving.ask();
    client("next", 10).ask();
    limiter.withdraw(leaving);
    clock.advance(10);
    expect(notes.at(-1)).toEqual({ name: "next", at: 10, cost: 10 });
    limiter.withdraw(leaving);
  });

  test("lose no time that has passed when the one before them withdraws", () => {
    const { clock, client, limiter, notes } = rig({ costPerMinute: 60_000 });
    client("first", 1_000).ask();
    const leaving = client("leaving", 1_000);
    leaving.ask();
    client("next", 900).ask();
    clock.advance(600);
    limiter.withdraw(leaving);
    clock.advance(300);
    expect(notes.at(-1)).toEqual({ name: "next", at: 900, cost: 900 });
  });

  test("are called earlier when another client gives back", () => {
    const { clock, client, limiter, notes } = rig({ callsPerMinute: 60, costPerMinute: 60_000 });
    client("first", 1_000).ask();
    client("next", 500).ask();
    limiter.giveBack(1, 1_000);
    expect(notes).toHaveLength(1);
    clock.advance(0);
    expect(notes.at(-1)).toEqual({ name: "next", at: 0, cost: 500 });
  });
});

describe("`hold`", () => {
  test("stops all batchers for as long as it says", () => {
    const { clock, client, limiter, notes } = rig({ callsPerMinute: 6_000 });
    limiter.hold(2_000);
    client("a").ask();
    client("b").ask();
    clock.advance(1_999);
    expect(notes).toEqual([]);
    clock.advance(1);
    expect(notes.map(({ name }) => name)).toEqual(["a", "b"]);
  });

  test("lets a later end win over an earlier one", () => {
    const { clock, client, limiter, notes } = rig({ callsPerMinute: 6_000 });
    limiter.hold(2_000);
    clock.advance(500);
    limiter.hold(100);
    client("a").ask();
    clock.advance(1_499);
    expect(notes).toEqual([]);
    limiter.hold(1_000);
    clock.advance(999);
    expect(notes).toEqual([]);
    clock.advance(1);
    expect(notes).toHaveLength(1);
  });

  test("stops clients that already wait", () => {
    const { clock, client, limiter, notes } = rig({ callsPerMinute: 60 });
    client("a").ask();
    client("b").ask();
    limiter.hold(5_000);
    clock.advance(4_999);
    expect(notes).toHaveLength(1);
    clock.advance(1);
    expect(notes).toHaveLength(2);
  });

  test.each([Number.NaN, -1, 0, Number.NEGATIVE_INFINITY])("of %s ms does nothing", (forMs) => {
    const { client, limiter } = rig({ callsPerMinute: 60 });
    limiter.hold(forMs);
    expect(client("a").ask()).toBe(true);
  });

  test("of more than a day counts as a day", () => {
    const { clock, client, limiter, notes } = rig({ callsPerMinute: 60 });
    limiter.hold(Number.POSITIVE_INFINITY);
    client("a").ask();
    clock.advance(86_399_999);
    expect(notes).toEqual([]);
    clock.advance(1);
    expect(notes).toHaveLength(1);
  });
});

describe("the timer", () => {
  test("is one while clients wait, and none otherwise", () => {
    const { clock, client, limiter } = rig({ callsPerMinute: 60 });
    expect(client("a").ask()).toBe(true);
    limiter.giveBack(0, 0);
    limiter.hold(10);
    expect(clock.timers).toBe(0);
    const waiting = [client("b"), client("c"), client("d")];
    for (const one of waiting) one.ask();
    expect(clock.timers).toBe(1);
    limiter.giveBack(0, 5);
    limiter.hold(20);
    expect(clock.timers).toBe(1);
    clock.advance(1_500);
    expect(clock.timers).toBe(1);
    for (const one of waiting) limiter.withdraw(one);
    expect(clock.timers).toBe(0);
  });

  test("fires once a grant, not once a client that waits", () => {
    const { clock, client, notes } = rig({ callsPerMinute: 60 });
    for (const index of range(11)) client(`${index}`).ask();
    clock.advance(10_000);
    expect(notes).toHaveLength(11);
    expect(clock.fired).toBe(10);
  });

  test("is set and fires once for many clients that one refill serves", () => {
    const { clock, client, limiter, notes } = rig({ callsPerMinute: 600 });
    limiter.hold(1_000);
    for (const index of range(10)) client(`${index}`).ask();
    clock.advance(1_000);
    expect(notes).toHaveLength(10);
    expect(clock.fired).toBe(1);
    expect(clock.set).toBe(1);
  });
});
