import { describe, expect, test } from "vitest";
import { echo, echoAll, type Rig, range, rig } from "../support.ts";

const STORM = 100_000;

/** CPU time of this process so far, in ms, without other processes of the machine. */
function busyMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The batcher's shortest CPU time for a normal load, in ms. */
async function bestLoadMs(of: Rig<number, number>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (const _ of range(7)) best = Math.min(best, await loadMs(of));
  return best;
}

async function loadMs(of: Rig<number, number>): Promise<number> {
  const startedAt = busyMs();
  for (const _ of range(20)) {
    for (const item of range(500)) void of.batcher.submit(item);
    await echoAll(of);
  }
  return busyMs() - startedAt;
}

describe("a storm of cancelled items", () => {
  test.each([
    ["one signal over all of them", 1],
    ["a thousand signals", 1_000],
    ["a signal each", STORM],
  ])("with %s keeps nothing: no item, no timer, no slow batcher", async (_, signals) => {
    const of = rig<number>({ maxQueueSize: Number.POSITIVE_INFINITY, maxBatchSize: 100 });
    const before = await bestLoadMs(of);
    void of.batcher.submit(-1);
    await of.clock.settle();
    const leave = range(signals).map(() => new AbortController());
    let gone = 0;
    for (const item of range(STORM)) {
      const { signal } = leave[item % signals] as AbortController;
      of.batcher.submit(item, { signal, timeoutMs: 60_000, priority: item % 3 }).catch(() => {
        gone += 1;
      });
    }
    expect(of.batcher.stats().waiting).toBe(STORM);
    // A fixed reason: otherwise Node.js creates an error with a stack per signal, 30 us each.
    const reason = new Error("left");
    const startedAt = busyMs();
    for (const controller of leave) controller.abort(reason);
    await of.clock.settle();
    expect(busyMs() - startedAt).toBeLessThan(5_000);
    expect(gone).toBe(STORM);
    expect(of.batcher.stats()).toMatchObject({ waiting: 0, cancelled: STORM });
    expect(of.clock.timers).toBe(0);
    const calls = of.handler.calls.length;
    await echo(of);
    expect(of.handler.calls).toHaveLength(calls);
    const after = await bestLoadMs(of);
    expect(after / before).toBeLessThan(4);
  });

  test("in the middle of the queue does not slow down those around it", async () => {
    const of = rig<number>({ maxQueueSize: Number.POSITIVE_INFINITY, maxBatchSize: 10 });
    void of.batcher.submit(-1);
    await of.clock.settle();
    const leave = new AbortController();
    const stays: Promise<number>[] = [];
    for (const item of range(STORM)) {
      if (item % 1_000 === 0) stays.push(of.batcher.submit(item));
      else of.batcher.submit(item, { signal: leave.signal }).catch(() => {});
    }
    leave.abort();
    await echoAll(of);
    expect(await Promise.all(stays)).toEqual(range(100).map((index) => index * 1_000));
    expect(of.handler.calls).toHaveLength(1 + 10);
  });

  test("inside running batches frees the callers and keeps the slots honest", async () => {
    const of = rig<number>({ maxBatchSize: 100, concurrency: 10, maxQueueSize: Number.POSITIVE_INFINITY });
    const leave = new AbortController();
    const settled = of.batcher.submitSettled(range(10_000), { signal: leave.signal });
    await of.clock.settle();
    expect(of.handler.open).toHaveLength(10);
    leave.abort();
    await settled;
    expect(of.handler.calls.every(({ context }) => context.signal.aborted)).toBe(true);
    void of.batcher.submit(1);
    await of.clock.settle();
    expect(of.handler.calls).toHaveLength(10);
    await echoAll(of);
    expect(of.batcher.stats()).toMatchObject({ cancelled: 10_000, completed: 1, running: 0 });
  });
});
