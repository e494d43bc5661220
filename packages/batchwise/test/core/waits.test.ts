import { createBatcher } from "batchwise";
import { describe, expect, test, vi } from "vitest";
import { echo, range, rig } from "../support.ts";

describe("without a wait", () => {
  test("an idle batcher sends at the end of the turn, without a timer", async () => {
    const { batcher, clock, handler } = rig();
    void batcher.submit("a");
    expect(handler.calls).toHaveLength(0);
    expect(clock.timers).toBe(0);
    await clock.settle();
    expect(handler.batches).toEqual([["a"]]);
    expect(handler.calls[0]?.context.reason).toBe("idle");
  });

  test("the submits of one turn go together", async () => {
    const { batcher, clock, handler } = rig<number>();
    for (const item of range(5)) void batcher.submit(item);
    await clock.settle();
    expect(handler.batches).toEqual([range(5)]);
  });

  test("submits made in later promise jobs of the same task go with them", async () => {
    const { batcher, clock, handler } = rig<number>();
    const later = async (item: number): Promise<void> => {
      for (let job = 0; job < item; job += 1) await null;
      void batcher.submit(item);
    };
    for (const item of range(50)) void later(item);
    await clock.settle();
    expect(handler.batches).toEqual([range(32), range(50).slice(32)].slice(0, 1));
    expect(batcher.stats().waiting).toBe(18);
  });

  test("a caller who submits again when answered joins the others that do", async () => {
    const sizes: number[] = [];
    const batcher = createBatcher(async (items: number[]) => {
      sizes.push(items.length);
      return items;
    });
    const caller = async (item: number): Promise<void> => {
      for (let round = 0; round < 3; round += 1) await batcher.submit(item);
    };
    await Promise.all(range(20).map(caller));
    expect(sizes).toEqual([20, 20, 20]);
  });

  test("submits of another task are another batch", async () => {
    const { batcher, clock, handler } = rig({ concurrency: 2 });
    void batcher.submit("a");
    await clock.settle();
    void batcher.submit("b");
    await clock.settle();
    expect(handler.batches).toEqual([["a"], ["b"]]);
  });

  test("items that gather while every slot is busy go as one batch", async () => {
    const of = rig<number>({ maxBatchSize: 8 });
    void of.batcher.submit(0);
    await of.clock.settle();
    for (const item of range(5)) {
      await of.clock.advance(10);
      void of.batcher.submit(item);
    }
    await echo(of);
    expect(of.handler.batches).toEqual([[0], range(5)]);
  });

  test("a lone item reaches the handler without any timer of the platform", async () => {
    const timer = vi.spyOn(globalThis, "setTimeout");
    const immediate = vi.spyOn(globalThis, "setImmediate");
    try {
      expect(await createBatcher((items: number[]) => items).submit(1)).toBe(1);
      expect(timer).not.toHaveBeenCalled();
      expect(immediate).not.toHaveBeenCalled();
    } finally {
      timer.mockRestore();
      immediate.mockRestore();
    }
  });
});

describe("with `maxWaitMs`", () => {
  test("an item is held that long for a fuller batch, and no longer", async () => {
    const { batcher, clock, handler } = rig({ maxWaitMs: 50 });
    void batcher.submit("a");
    await clock.advance(49);
    expect(handler.calls).toHaveLength(0);
    await clock.advance(1);
    expect(handler.batches).toEqual([["a"]]);
  });

  test("the window belongs to the oldest item: later ones do not move it", async () => {
    const { batcher, clock, handler } = rig<number>({ maxWaitMs: 50 });
    for (const item of range(5)) {
      void batcher.submit(item);
      await clock.advance(12);
    }
    expect(clock.now()).toBe(60);
    expect(handler.batches).toEqual([range(5)]);
    expect(handler.calls[0]?.context.requests.map(({ waitedMs }) => waitedMs)).toEqual([50, 38, 26, 14, 2]);
  });

  test("an item that waited for a slot is not held again when one is free", async () => {
    const of = rig({ maxWaitMs: 50 });
    void of.batcher.submit("a");
    await of.clock.advance(50);
    void of.batcher.submit("b");
    await of.clock.advance(60);
    await echo(of);
    expect(of.handler.batches).toEqual([["a"], ["b"]]);
  });

  test("a window that has partly run while the slot was busy runs on, it does not start again", async () => {
    const of = rig({ maxWaitMs: 50 });
    void of.batcher.submit("a");
    await of.clock.advance(50);
    void of.batcher.submit("b");
    await of.clock.advance(30);
    await echo(of);
    await of.clock.advance(19);
    expect(of.handler.calls).toHaveLength(1);
    await of.clock.advance(1);
    expect(of.handler.batches).toEqual([["a"], ["b"]]);
  });

  test("a full batch goes at once", async () => {
    const { batcher, clock, handler } = rig<number>({ maxWaitMs: 50, maxBatchSize: 4 });
    void batcher.submitMany(range(3));
    await clock.advance(10);
    expect(handler.calls).toHaveLength(0);
    void batcher.submit(3);
    await clock.settle();
    expect(handler.batches).toEqual([range(4)]);
  });

  test("a batch goes at once when the next item would break the cost cap", async () => {
    const { batcher, clock, handler } = rig<number>({ maxWaitMs: 50, cost: (item) => item, maxBatchCost: 10 });
    void batcher.submit(6);
    await clock.advance(10);
    expect(handler.calls).toHaveLength(0);
    void batcher.submit(5);
    await clock.settle();
    expect(handler.batches).toEqual([[6]]);
  });

  test("the rest of a burst has its own wait for a fuller batch", async () => {
    const of = rig<number>({ maxWaitMs: 50, maxBatchSize: 4, concurrency: 2 });
    void of.batcher.submitMany(range(6));
    await of.clock.advance(49);
    expect(of.handler.batches).toEqual([range(4)]);
    await of.clock.advance(1);
    expect(of.handler.batches[1]).toEqual([4, 5]);
  });

  test("`preferredBatchSize` waiting items are enough to go, and more may come along", async () => {
    const { batcher, clock, handler } = rig<number>({ maxWaitMs: 50, preferredBatchSize: 3, maxBatchSize: 10 });
    void batcher.submitMany(range(2));
    await clock.advance(10);
    expect(handler.calls).toHaveLength(0);
    void batcher.submitMany([2, 3, 4]);
    await clock.settle();
    expect(handler.batches).toEqual([range(5)]);
  });

  test("`preferredBatchSize` no longer counts once the oldest has waited its time", async () => {
    const { batcher, clock, handler } = rig({ maxWaitMs: 50, preferredBatchSize: 3 });
    void batcher.submit("a");
    await clock.advance(50);
    expect(handler.batches).toEqual([["a"]]);
  });

  test("a full queue counts as a full batch", async () => {
    const { batcher, clock, handler } = rig<number>({ maxWaitMs: 1000, maxQueueSize: 4 });
    void batcher.submitMany(range(4));
    await clock.settle();
    expect(handler.batches).toEqual([range(4)]);
  });

  test("an item goes early when its deadline would pass in the wait, with all items that wait by then", async () => {
    const { batcher, clock, handler } = rig({ maxWaitMs: 100 });
    void batcher.submit("a");
    await clock.advance(20);
    void batcher.submit("b", { timeoutMs: 30 });
    await clock.advance(29);
    expect(handler.batches).toEqual([["a", "b"]]);
    expect(handler.calls[0]?.context.reason).toBe("deadline");
  });

  test("a deadline after the wait does not shorten it", async () => {
    const { batcher, clock, handler } = rig({ maxWaitMs: 100 });
    void batcher.submit("a", { timeoutMs: 500 });
    await clock.advance(99);
    expect(handler.calls).toHaveLength(0);
  });

  test("the wait ends with its items: no timer is left when they have gone", async () => {
    const { batcher, clock, handler } = rig({ maxWaitMs: 100 });
    const leave = new AbortController();
    const left = batcher.submit("a", { signal: leave.signal }).catch(() => "left");
    await clock.advance(10);
    expect(clock.timers).toBe(1);
    leave.abort();
    expect(await left).toBe("left");
    await clock.settle();
    expect(clock.timers).toBe(0);
    expect(handler.calls).toHaveLength(0);
  });

  test("the wait of the next oldest counts when the oldest is cancelled", async () => {
    const { batcher, clock, handler } = rig({ maxWaitMs: 100 });
    const leave = new AbortController();
    batcher.submit("a", { signal: leave.signal }).catch(() => "left");
    await clock.advance(60);
    void batcher.submit("b");
    leave.abort();
    await clock.advance(99);
    expect(handler.calls).toHaveLength(0);
    await clock.advance(1);
    expect(handler.batches).toEqual([["b"]]);
  });

  test("Infinity holds items until a batch is full", async () => {
    const { batcher, clock, handler } = rig({ maxWaitMs: Number.POSITIVE_INFINITY, maxBatchSize: 2 });
    void batcher.submit("a");
    await clock.advance(1_000_000);
    expect(handler.calls).toHaveLength(0);
    expect(clock.timers).toBe(0);
    void batcher.submit("b");
    await clock.settle();
    expect(handler.batches).toEqual([["a", "b"]]);
  });
});
