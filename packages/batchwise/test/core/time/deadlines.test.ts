import { type VirtualClock, virtualClock } from "batchwise/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Deadlines, type Due } from "../../../src/core/time/deadlines.ts";
import { HeapNode } from "../../../src/core/time/heap.ts";

/** A due event that only calls back. */
function calling(callback: () => unknown): HeapNode<Due> {
  return new HeapNode<Due>({ leave: () => true, expired: () => void callback() });
}

interface Kit {
  readonly clock: VirtualClock;
  readonly deadlines: Deadlines;
  /** Due time and call time of each event. */
  readonly told: number[][];
  add(at: number): HeapNode<Due>;
}

function kitOf(): Kit {
  const clock = virtualClock();
  const deadlines = new Deadlines(clock, { inOneStep: (work) => work() });
  const told: number[][] = [];
  const add = (at: number): HeapNode<Due> => {
    const node = calling(() => told.push([at, clock.now()]));
    deadlines.add(node, at);
    return node;
  };
  return { clock, deadlines, told, add };
}

describe("deadlines", () => {
  test("fire at their own time, with one timer for all, whatever was removed", async () => {
    const plans = fc.array(fc.record({ at: fc.nat(50), isRemoved: fc.boolean() }), { maxLength: 150, size: "max" });
    await fc.assert(
      fc.asyncProperty(plans, async (list) => {
        const { clock, deadlines, told, add } = kitOf();
        const nodes = list.map(({ at }) => add(at));
        expect(clock.timers).toBe(Math.min(1, list.length));
        for (const [index, { isRemoved }] of list.entries()) {
          if (isRemoved) deadlines.remove(nodes[index] as HeapNode<Due>);
        }
        const left = list.filter(({ isRemoved }) => !isRemoved).map(({ at }) => at);
        expect(clock.timers).toBe(left.length === 0 ? 0 : 1);
        await clock.runAll();
        expect(told).toEqual(left.toSorted((a, b) => a - b).map((at) => [at, at]));
        expect(clock.timers).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  test("fire after all due ones have expired, and not for removed ones", async () => {
    const { clock, deadlines } = kitOf();
    const steps: string[] = [];
    for (const name of ["a", "over", "b"]) {
      const due: Due = {
        leave: () => steps.push(`${name} expires`) > 0 && name !== "over",
        expired: () => steps.push(`${name} is told`),
      };
      deadlines.add(new HeapNode(due), 10);
    }
    await clock.runAll();
    expect(steps).toEqual(["a expires", "over expires", "b expires", "a is told", "b is told"]);
  });

  test("pass over a deadline that another removes while it expires", async () => {
    const { clock, deadlines, told, add } = kitOf();
    let third: HeapNode<Due> | null = null;
    const leave = (): boolean => {
      if (third !== null) deadlines.remove(third);
      return true;
    };
    deadlines.add(new HeapNode<Due>({ leave, expired: () => {} }), 10);
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
    const deadlines = new Deadlines(clock, {
      inOneStep: (work) => {
        isInStep = true;
        work();
        isInStep = false;
      },
    });
    for (const at of [5, 5])
      deadlines.add(
        calling(() => during.push(isInStep)),
        at,
      );
    await clock.runAll();
    expect(during).toEqual([true, true]);
  });

  test("fire overdue ones when they are checked, before the timer comes", async () => {
    const { clock, deadlines, told, add } = kitOf();
    for (const at of [10, 20]) add(at);
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
    deadlines.add(
      calling(() => [clock.now(), clock.now() + 5].forEach(add)),
      10,
    );
    await clock.runAll();
    expect(told).toEqual([
      [10, 10],
      [15, 15],
    ]);
    expect(clock.timers).toBe(0);
  });
});
