import { afterEach, describe, expect, test, vi } from "vitest";
import type { Clock } from "../../../src/core/time/clock.ts";
import { endOfPass, endOfTurn, type Moment, Turn } from "../../../src/core/time/turn.ts";

interface Counted {
  readonly turn: Turn;
  readonly seen: { readings: number; ends: number };
}

/** A turn whose clock counts how often it is read. */
function turnOf(onEnd: (turn: Turn) => void = () => {}): Counted {
  const seen = { readings: 0, ends: 0 };
  const clock: Clock = {
    now: () => {
      seen.readings += 1;
      return seen.readings;
    },
    setTimeout: () => undefined,
    clearTimeout: () => {},
  };
  const turn: Turn = new Turn({
    clock,
    turnEnded: () => {
      seen.ends += 1;
      onEnd(turn);
    },
  });
  return { turn, seen };
}

const nextTask = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

afterEach(() => {
  vi.useRealTimers();
});

describe("a turn", () => {
  test("is one moment and one reading of the clock, until the promise jobs of the task are done", async () => {
    const { turn, seen } = turnOf();
    const moments: Moment[] = [turn.moment];
    await (async () => {
      for (let job = 0; job < 50; job += 1) {
        moments.push(turn.moment);
        await null;
      }
    })();
    expect(turn.isOpen).toBe(true);
    await nextTask();
    expect(turn.isOpen).toBe(false);
    expect(new Set(moments).size).toBe(1);
    expect(seen).toEqual({ readings: 1, ends: 1 });
  });

  test("ends once, however often its end is requested, and not at all without a request", async () => {
    const { turn, seen } = turnOf();
    await nextTask();
    expect(seen.ends).toBe(0);
    for (let times = 0; times < 3; times += 1) turn.lookAgain();
    await nextTask();
    expect(seen.ends).toBe(1);
  });

  test("is followed by another one, with its own time, where its end requests that", async () => {
    const moments: Moment[] = [];
    const { turn, seen } = turnOf((same) => {
      if (moments.length < 3) moments.push(same.moment);
    });
    moments.push(turn.moment);
    await nextTask();
    expect(new Set(moments.map(({ at }) => at))).toEqual(new Set([1, 2, 3]));
    expect(seen.ends).toBe(3);
  });
});

describe("the end of a turn and of a pass", () => {
  test("come in this order: promise jobs, the end of the turn, the end of the pass", async () => {
    const order: string[] = [];
    const inPass = (): void => {
      endOfPass(() => order.push("pass"));
      endOfTurn(() => order.push("turn"));
      void (async () => {
        for (let job = 0; job < 10; job += 1) await null;
        order.push("jobs");
      })();
    };
    setImmediate(inPass);
    for (let task = 0; task < 3; task += 1) await nextTask();
    expect(order).toEqual(["jobs", "turn", "pass"]);
  });

  test("come under fake timers too, also where they fake the passes", async () => {
    const real = globalThis.setImmediate;
    const order: string[] = [];
    vi.useFakeTimers({ toFake: ["setImmediate", "setTimeout", "performance"] });
    endOfPass(() => order.push("pass"));
    endOfTurn(() => order.push("turn"));
    await new Promise<void>((resolve) => real(resolve));
    await new Promise<void>((resolve) => real(resolve));
    expect(order).toEqual(["turn", "pass"]);
  });
});
