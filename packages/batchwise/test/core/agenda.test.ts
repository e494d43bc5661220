import { type VirtualClock, virtualClock } from "batchwise/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Agenda, Timeout } from "../../src/core/time/deadlines.ts";

function agendaOn(clock: VirtualClock): { add(at: number): Timeout; agenda: Agenda; rung: number[][] } {
  const agenda = new Agenda(clock, (work) => work());
  const rung: number[][] = [];
  const add = (at: number): Timeout => {
    const timeout = new Timeout(at, () => rung.push([at, clock.now()]));
    agenda.add(timeout, clock.now());
    return timeout;
  };
  return { agenda, rung, add };
}

describe("the agenda", () => {
  test("rings each entry at its own time, with one timer for all", async () => {
    const clock = virtualClock();
    const { add, rung } = agendaOn(clock);
    for (const at of [30, 10, 20, 10]) add(at);
    expect(clock.timers).toBe(1);
    await clock.runAll();
    expect(rung).toEqual([
      [10, 10],
      [10, 10],
      [20, 20],
      [30, 30],
    ]);
    expect(clock.timers).toBe(0);
  });

  test("rings what is left at its time, whatever was added and called off", async () => {
    const plans = fc.array(fc.record({ at: fc.nat(50), isCancelled: fc.boolean() }), { maxLength: 150 });
    await fc.assert(
      fc.asyncProperty(plans, async (list) => {
        const clock = virtualClock();
        const { agenda, add, rung } = agendaOn(clock);
        const timeouts = list.map(({ at }) => add(at));
        for (const [index, { isCancelled }] of list.entries()) if (isCancelled) timeouts[index]?.cancel(agenda);
        const left = list.filter(({ isCancelled }) => !isCancelled).map(({ at }) => at);
        expect(clock.timers).toBe(left.length === 0 ? 0 : 1);
        await clock.runAll();
        expect(rung).toEqual(left.toSorted((a, b) => a - b).map((at) => [at, at]));
        expect(clock.timers).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  test("holds no timer once all is called off", () => {
    const clock = virtualClock();
    const { agenda, add } = agendaOn(clock);
    const timeouts = [add(10), add(20)];
    for (const timeout of timeouts) timeout.cancel(agenda);
    expect(clock.timers).toBe(0);
  });

  test("rings what is overdue when it is asked, before the timer comes", async () => {
    const clock = virtualClock();
    const { agenda, add, rung } = agendaOn(clock);
    add(10);
    add(20);
    agenda.ringDue(15);
    expect(rung).toEqual([[10, 0]]);
    await clock.runAll();
    expect(rung).toEqual([
      [10, 0],
      [20, 20],
    ]);
  });

  test("takes entries added while it rings", async () => {
    const clock = virtualClock();
    const { agenda, add, rung } = agendaOn(clock);
    agenda.add(new Timeout(10, () => add(clock.now())), 0);
    await clock.runAll();
    expect(rung).toEqual([[10, 10]]);
  });
});
