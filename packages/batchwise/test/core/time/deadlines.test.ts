import { type VirtualClock, virtualClock } from "batchwise/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Deadlines, Due, Timeout } from "../../../src/core/time/deadlines.ts";

class Event extends Due {
  readonly leave: () => boolean;
  readonly expired: () => void;

  constructor(expired: () => unknown, leave: () => boolean = () => true) {
    super();
    this.expired = () => void expired();
    this.leave = leave;
  }
}

interface Kit {
  readonly clock: VirtualClock;
  readonly deadlines: Deadlines;
  /** Due time and call time of each event. */
  readonly told: number[][];
  add(ms: number): Due;
}

function kitOf(): Kit {
  const clock = virtualClock();
  const deadlines = new Deadlines({ clock, inOneStep: (work) => work() });
  const told: number[][] = [];
  const add = (ms: number): Due => {
    const due: Due = new Event(() => told.push([due.dueAt, clock.now()]));
    deadlines.set(due, ms);
    return due;
  };
  return { clock, deadlines, told, add };
}

describe("deadlines", () => {
  test("fire at their own time, with one timer for all, whatever was removed", async () => {
    const plan = fc.record({ ms: fc.integer({ min: 60, max: 70 }), laterMs: fc.nat(1), isRemoved: fc.boolean() });
    const plans = fc.array(plan, { maxLength: 50, size: "max" });
    await fc.assert(
      fc.asyncProperty(plans, async (list) => {
        const { clock, deadlines, told, add } = kitOf();
        const left: number[] = [];
        for (const { ms, laterMs, isRemoved } of list) {
          await clock.advance(laterMs);
          const due = add(ms);
          expect(clock.timers).toBe(1);
          if (isRemoved) deadlines.remove(due);
          else left.push(due.dueAt);
        }
        expect(clock.timers).toBe(left.length === 0 ? 0 : 1);
        await clock.runAll();
        expect(told).toEqual(left.toSorted((a, b) => a - b).map((at) => [at, at]));
        expect(clock.timers).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  test("fire in the order of their times where durations differ and the check is late", async () => {
    const { clock, deadlines, told, add } = kitOf();
    const ends = [10, 30].map(add);
    await clock.advance(5);
    for (const ms of [10, 6, 30]) add(ms);
    deadlines.remove(ends[0] as Due);
    deadlines.fireDue(40);
    expect(told.map(([at]) => at)).toEqual([11, 15, 30, 35]);
    expect(clock.timers).toBe(0);
  });

  test("fire after all due ones have expired, and not for removed ones", async () => {
    const { clock, deadlines } = kitOf();
    const steps: string[] = [];
    for (const name of ["a", "over", "b"]) {
      const leave = (): boolean => steps.push(`${name} expires`) > 0 && name !== "over";
      deadlines.set(new Event(() => steps.push(`${name} is told`), leave), 10);
    }
    await clock.runAll();
    expect(steps).toEqual(["a expires", "over expires", "b expires", "a is told", "b is told"]);
  });

  test("pass over a deadline that another removes while it expires", async () => {
    const { clock, deadlines, told, add } = kitOf();
    let third: Due | null = null;
    const leave = (): boolean => {
      if (third !== null) deadlines.remove(third);
      return true;
    };
    deadlines.set(new Event(() => {}, leave), 10);
    add(10);
    third = add(11);
    deadlines.fireDue(20);
    expect(told).toEqual([[10, 0]]);
    expect(clock.timers).toBe(0);
  });

  test("fire in one step", async () => {
    const clock = virtualClock();
    let isInStep = false;
    const during: boolean[] = [];
    const deadlines = new Deadlines({
      clock,
      inOneStep: (work) => {
        isInStep = true;
        work();
        isInStep = false;
      },
    });
    for (const ms of [5, 5]) deadlines.set(new Event(() => during.push(isInStep)), ms);
    await clock.runAll();
    expect(during).toEqual([true, true]);
  });

  test("fire overdue ones when they are checked, before the timer comes", async () => {
    const { clock, deadlines, told, add } = kitOf();
    for (const ms of [10, 20]) add(ms);
    deadlines.fireDue(15);
    expect(told).toEqual([[10, 0]]);
    await clock.runAll();
    expect(told).toEqual([
      [10, 0],
      [20, 20],
    ]);
  });

  test("accept deadlines that are added while they fire", async () => {
    const { clock, deadlines, told, add } = kitOf();
    deadlines.set(new Event(() => [0, 5].forEach(add)), 10);
    await clock.runAll();
    expect(told).toEqual([
      [10, 10],
      [15, 15],
    ]);
    expect(clock.timers).toBe(0);
  });

  test("of a timeout that is set again, or cleared, while it fires are those of its last start", async () => {
    const { clock, deadlines } = kitOf();
    const told: [string, number][] = [];
    const [again, cleared] = [new Timeout(deadlines), new Timeout(deadlines)];
    const tell = (name: string) => (): void => void told.push([name, clock.now()]);
    new Timeout(deadlines).start(10, () => {
      again.start(10, tell("again"));
      cleared.clear();
      tell("first")();
    });
    for (const timeout of [again, cleared]) timeout.start(10, tell("too early"));
    await clock.runAll();
    expect(told).toEqual([
      ["first", 10],
      ["again", 20],
    ]);
  });
});
