// The option `gather` on the virtual clock. test/integration/gather.test.ts tests it with real
// sockets.

import { type BatchEvent, type BatchOptions, createBatcher } from "batchwise";
import { describe, expect, test } from "vitest";
import { echo, range, rig, thrownBy, watch } from "../support.ts";

/** Waits for another turn of the same pass. */
async function anotherTurn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/** Submits each item in a turn of its own, all in one pass of the virtual clock. */
async function submitInTurns(submit: (item: number) => Promise<unknown>, items: readonly number[]): Promise<void> {
  for (const item of items) {
    void submit(item);
    await anotherTurn();
  }
}

/**
 * A synchronous handler behind a batcher on the virtual clock, and the reasons and sizes of its
 * batches.
 */
function quick(options: BatchOptions<number, number>) {
  const of = rig<number>(options);
  const batches: number[][] = [];
  const reasons: BatchEvent["reason"][] = [];
  const batcher = createBatcher(
    (items: number[]) => {
      batches.push(items);
      return items;
    },
    { clock: of.clock, ...options },
  );
  batcher.on("batch", ({ reason }) => reasons.push(reason));
  return { clock: of.clock, batcher, batches, reasons };
}

describe('gather "turn"', () => {
  test("sends at the end of the turn, also after a batch that settled in the turn in which it began", async () => {
    const { batcher, batches, reasons } = quick({ gather: "turn" });
    await submitInTurns((item) => batcher.submit(item), range(3));
    expect(batches).toEqual([[0], [1], [2]]);
    expect(reasons).toEqual(["idle", "idle", "idle"]);
  });
});

describe('gather "auto" with an injected clock', () => {
  test('is "turn"', async () => {
    const { batcher, batches } = quick({});
    expect(batcher.options.gather).toBe("auto");
    await submitInTurns((item) => batcher.submit(item), range(3));
    expect(batches).toEqual([[0], [1], [2]]);
  });

  test("needs no `clock.setImmediate`", async () => {
    const { clock } = rig();
    const bare = { now: () => clock.now(), setTimeout: clock.setTimeout, clearTimeout: clock.clearTimeout };
    expect(await createBatcher((items: number[]) => items, { clock: bare }).submit(1)).toBe(1);
  });
});

describe('gather "tick"', () => {
  test("gathers items that are submitted in different turns of one pass", async () => {
    const { batcher, batches, reasons, clock } = quick({ gather: "tick" });
    await submitInTurns((item) => batcher.submit(item), range(5));
    expect(batches).toEqual([]);
    await clock.settle();
    expect(batches).toEqual([range(5)]);
    expect(reasons).toEqual(["idle"]);
  });

  test("sends a lone item at the end of the pass, without a timer", async () => {
    const { batcher, clock, batches } = quick({ gather: "tick" });
    const answer = watch(batcher.submit(1));
    await anotherTurn();
    expect(clock.timers).toBe(0);
    expect(batches).toEqual([]);
    await clock.settle();
    expect(answer).toMatchObject({ state: "fulfilled", value: 1 });
    expect(clock.now()).toBe(0);
  });

  test("gathers again in each pass", async () => {
    const { batcher, clock, batches } = quick({ gather: "tick" });
    for (const pass of range(3)) {
      await submitInTurns((item) => batcher.submit(item), [10 * pass, 10 * pass + 1]);
      await clock.settle();
    }
    expect(batches).toEqual([
      [0, 1],
      [10, 11],
      [20, 21],
    ]);
  });

  test("requests the end of the pass once, however many turns it has", async () => {
    const { clock } = rig();
    let asked = 0;
    const counting = {
      now: () => clock.now(),
      setTimeout: (callback: () => void, delayMs: number) => clock.setTimeout(callback, delayMs),
      clearTimeout: (handle: unknown) => clock.clearTimeout(handle),
      setImmediate: (callback: () => void) => {
        asked += 1;
        clock.setImmediate(callback);
      },
    };
    const batcher = createBatcher((items: number[]) => items, { clock: counting, gather: "tick" });
    await submitInTurns((item) => batcher.submit(item), range(5));
    await clock.settle();
    expect(asked).toBe(1);
    expect(batcher.stats()).toMatchObject({ batches: 1, completed: 5 });
  });

  test("does not hold a batch that is full: it goes at the end of the turn, the rest gathers", async () => {
    const { batcher, clock, batches, reasons } = quick({ gather: "tick", maxBatchSize: 4 });
    void batcher.submitMany(range(6));
    await anotherTurn();
    expect(batches).toEqual([range(4)]);
    await submitInTurns((item) => batcher.submit(item), [6]);
    expect(batches).toEqual([range(4)]);
    await clock.settle();
    expect(batches).toEqual([range(4), [4, 5, 6]]);
    expect(reasons).toEqual(["size", "idle"]);
  });

  test("does not hold a batch that is full by cost", async () => {
    const { batcher, batches, reasons } = quick({ gather: "tick", maxBatchCost: 10, cost: (item) => item });
    await submitInTurns((item) => batcher.submit(item), [6, 4]);
    expect(batches).toEqual([[6, 4]]);
    expect(reasons).toEqual(["cost"]);
  });

  test("does not hold a queue that is full", async () => {
    const { batcher, batches, reasons } = quick({ gather: "tick", maxQueueSize: 3 });
    await submitInTurns((item) => batcher.submit(item), range(3));
    expect(batches).toEqual([range(3)]);
    expect(reasons).toEqual(["size"]);
  });

  test("does not hold flushed items", async () => {
    const { batcher, clock, batches, reasons } = quick({ gather: "tick" });
    void batcher.submit(0);
    await anotherTurn();
    await batcher.flush();
    expect(batches).toEqual([[0]]);
    void batcher.submit(1);
    await batcher.flush();
    expect(batches).toEqual([[0], [1]]);
    expect(reasons).toEqual(["flush", "flush"]);
    await clock.settle();
    expect(batcher.stats()).toMatchObject({ batches: 2, waiting: 0 });
  });

  test("holds the lanes that a flush of another lane does not cover", async () => {
    const { batcher, clock, batches } = quick({ gather: "tick", key: (item) => `${item % 2}` });
    void batcher.submitMany([1, 2, 3]);
    await anotherTurn();
    const flushed = watch(batcher.flush({ key: "0" }));
    expect(batches).toEqual([[2]]);
    await anotherTurn();
    expect(flushed.state).toBe("fulfilled");
    expect(batches).toEqual([[2]]);
    await clock.settle();
    expect(batches).toEqual([[2], [1, 3]]);
  });

  test("does not hold a full lane behind a lane that gathers", async () => {
    const { batcher, clock, batches } = quick({ gather: "tick", key: (item) => `${item % 2}`, maxBatchSize: 2 });
    await submitInTurns((item) => batcher.submit(item), [1, 2, 4]);
    expect(batches).toEqual([[2, 4]]);
    await clock.settle();
    expect(batches).toEqual([[2, 4], [1]]);
  });

  test("does not hold a full lane of items without a key either", async () => {
    const { batcher, clock, batches } = quick({ gather: "tick", maxBatchSize: 2 });
    void batcher.submit(1, { key: "odd", priority: 1 });
    await submitInTurns((item) => batcher.submit(item), [2, 4]);
    void batcher.submitMany([6, 8]);
    await anotherTurn();
    expect(batches).toEqual([
      [2, 4],
      [6, 8],
    ]);
    await clock.settle();
    expect(batches.at(-1)).toEqual([1]);
  });

  test("does not hold a lane that is full by a measure other than the sum", async () => {
    for (const batchCost of ["padded", (items: readonly number[]) => items.length * Math.max(...items)] as const) {
      const { batcher, batches } = quick({ gather: "tick", batchCost, maxBatchCost: 12, cost: (item) => item });
      await submitInTurns((item) => batcher.submit(item), [2, 6, 1]);
      expect(batches).toEqual([[2, 6]]);
    }
  });

  test("a lane that is always full does not keep a slow handler from one that waits", async () => {
    const of = rig<number>({ gather: "tick", key: (item) => `${item % 2}`, maxBatchSize: 2 });
    void of.batcher.submitMany([0, 2, 1]);
    for (const round of range(3)) {
      void of.batcher.submitMany([10 * round + 4, 10 * round + 6]);
      await anotherTurn();
      await of.clock.advance(5);
      for (const call of of.handler.open) call.answer((item) => item);
    }
    expect(of.handler.batches).toContainEqual([1]);
  });

  test("does not hold waiting items at close()", async () => {
    const { batcher, batches, reasons } = quick({ gather: "tick" });
    const answer = batcher.submit(0);
    await anotherTurn();
    await batcher.close();
    expect(await answer).toBe(0);
    expect(batches).toEqual([[0]]);
    expect(reasons).toEqual(["drain"]);
  });

  test("close({ drain: false }) rejects gathering items, and the end of the pass finds nothing", async () => {
    const { batcher, clock, batches } = quick({ gather: "tick" });
    const answer = watch(batcher.submit(0));
    await anotherTurn();
    await batcher.close({ drain: false });
    await clock.settle();
    expect(answer).toMatchObject({ reason: { code: "CLOSED" } });
    expect(batches).toEqual([]);
  });

  test("items that gather while the slot is busy wait for the end of the pass in which it is freed", async () => {
    const of = rig<number>({ gather: "tick" });
    void of.batcher.submit(0);
    await of.clock.settle();
    await submitInTurns((item) => of.batcher.submit(item), [1, 2]);
    of.handler.open[0]?.answer((item) => item);
    await anotherTurn();
    expect(of.handler.batches).toEqual([[0]]);
    void of.batcher.submit(3);
    await echo(of);
    expect(of.handler.batches).toEqual([[0], [1, 2, 3]]);
  });

  test("omits items whose callers cancel before the end of the pass", async () => {
    const { batcher, clock, batches } = quick({ gather: "tick" });
    const leaving = new AbortController();
    batcher.submit(0, { signal: leaving.signal }).catch(() => {});
    void batcher.submit(1);
    await anotherTurn();
    leaving.abort();
    await clock.settle();
    expect(batches).toEqual([[1]]);
  });

  test("sends nothing while paused, and gathers again after resume()", async () => {
    const { batcher, clock, batches } = quick({ gather: "tick" });
    void batcher.submit(0);
    batcher.pause();
    await clock.settle();
    expect(batches).toEqual([]);
    batcher.resume();
    await anotherTurn();
    expect(batches).toEqual([]);
    void batcher.submit(1);
    await clock.settle();
    expect(batches).toEqual([[0, 1]]);
  });

  test("changes nothing with `maxWaitMs`", async () => {
    for (const gather of ["tick", "turn", "auto"] as const) {
      const { batcher, clock, batches, reasons } = quick({ gather, maxWaitMs: 50, preferredBatchSize: 3 });
      void batcher.submit(0);
      await clock.advance(49);
      expect(batches).toEqual([]);
      await clock.advance(1);
      expect(batches).toEqual([[0]]);
      await submitInTurns((item) => batcher.submit(item), [1, 2, 3]);
      expect(batches).toEqual([[0], [1, 2, 3]]);
      expect(reasons).toEqual(["wait", "preferred"]);
    }
  });

  test("is refused with a clock that has no setImmediate, by `configure`, too", async () => {
    const { clock } = rig();
    const bare = { now: () => clock.now(), setTimeout: clock.setTimeout, clearTimeout: clock.clearTimeout };
    const error = { code: "INVALID_OPTION", message: expect.stringContaining("`clock.setImmediate`") };
    const handler = (items: number[]): number[] => items;
    expect(thrownBy(() => createBatcher(handler, { clock: bare, gather: "tick" }))).toMatchObject(error);
    const batcher = createBatcher(handler, { clock: bare });
    expect(thrownBy(() => batcher.configure({ gather: "tick" }))).toMatchObject(error);
    expect(batcher.options.gather).toBe("auto");
  });
});

describe("configure({ gather })", () => {
  test("takes effect with the next batch", async () => {
    const { batcher, clock, batches } = quick({ gather: "turn" });
    await submitInTurns((item) => batcher.submit(item), [0, 1]);
    batcher.configure({ gather: "tick" });
    expect(batcher.options.gather).toBe("tick");
    await submitInTurns((item) => batcher.submit(item), [2, 3]);
    await clock.settle();
    expect(batches).toEqual([[0], [1], [2, 3]]);
  });

  test('sends the items that gather for the pass at the end of the turn in which it becomes "turn"', async () => {
    const { batcher, clock, batches } = quick({ gather: "tick" });
    void batcher.submit(0);
    await anotherTurn();
    batcher.configure({ gather: "turn" });
    await anotherTurn();
    expect(batches).toEqual([[0]]);
    await clock.settle();
    expect(batches).toEqual([[0]]);
  });

  test("holds the items that gather for the pass when a wait is set", async () => {
    const { batcher, clock, batches } = quick({ gather: "tick" });
    void batcher.submit(0);
    await anotherTurn();
    batcher.configure({ maxWaitMs: 20 });
    await clock.settle();
    expect(batches).toEqual([]);
    await clock.advance(20);
    expect(batches).toEqual([[0]]);
  });

  test("refuses any other value", () => {
    const { batcher } = quick({});
    expect(thrownBy(() => batcher.configure({ gather: "later" as never }))).toMatchObject({
      code: "INVALID_OPTION",
      message: 'Expected `gather` to be "auto" or "turn" or "tick", got `later` (string)',
    });
  });
});
